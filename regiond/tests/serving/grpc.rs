//! `limiter.v1.Limiter`, health and reflection, over a real connection.

use std::collections::{BTreeMap, HashMap};

use regiond::grpc::{GrpcServices, serve};
use regiond::wire::limiter_v1::CheckRequest;
use regiond::wire::limiter_v1::limiter_client::LimiterClient;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic::transport::Channel;

use crate::support::{PATIENCE, pod};

const RULES: &str = r#"
- id: pay
  match: { route: "POST /v1/payments" }
  key: api_key
  algorithm: fixed_window
  limit: 10
  window: 1h
"#;

struct Server {
    channel: Channel,
    stop: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let services = GrpcServices {
            pod: Some(pod(RULES)),
            mesh: None,
        };
        let task = tokio::spawn(serve(listener, services, async {
            let _ = stopped.await;
        }));
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
        Self {
            channel: endpoint.connect().await.unwrap(),
            stop,
            task,
        }
    }

    fn limiter(&self) -> LimiterClient<Channel> {
        LimiterClient::new(self.channel.clone())
    }

    async fn stop(self) {
        let Self {
            channel,
            stop,
            task,
        } = self;
        stop.send(()).unwrap();
        drop(channel);
        let ended = tokio::time::timeout(PATIENCE, task)
            .await
            .expect("the server ends");
        ended.unwrap().unwrap();
    }
}

fn payment(id: u64, cost: Option<i64>) -> CheckRequest {
    let facts = [("route", "POST /v1/payments"), ("api_key", "k1")];
    let descriptors: HashMap<_, _> = facts.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
    CheckRequest {
        id,
        domain: String::new(),
        descriptors,
        cost,
    }
}

#[tokio::test]
async fn a_check_means_the_same_as_over_http() {
    let server = Server::start().await;
    let answer = server
        .limiter()
        .check(payment(5, Some(9)))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        (answer.id, answer.allowed, answer.rules_version),
        (5, true, 7)
    );
    assert_eq!(
        (answer.policies[0].id.as_str(), answer.policies[0].remaining),
        ("pay", 1)
    );
    let headers: BTreeMap<_, _> = answer
        .headers
        .into_iter()
        .map(|h| (h.name, h.value))
        .collect();
    assert_eq!(headers["ratelimit-policy"], "\"pay\";q=10;w=3600");
    let denied = server
        .limiter()
        .check(payment(6, Some(2)))
        .await
        .unwrap()
        .into_inner();
    assert!(!denied.allowed);
    assert_eq!(
        (denied.decided_by.as_str(), denied.reason.as_str()),
        ("pay", "quota_exceeded")
    );
    assert!((1..=3_600_000).contains(&denied.retry_after_ms.unwrap()));
    let never = server
        .limiter()
        .check(payment(7, Some(11)))
        .await
        .unwrap()
        .into_inner();
    assert_eq!((never.allowed, never.retry_after_ms), (false, None));
    server.stop().await;
}

#[tokio::test]
async fn a_stream_answers_every_id_once_and_admits_no_more_than_the_limit() {
    let server = Server::start().await;
    let requests = tokio_stream::iter((0..100).map(|id| payment(id, None)));
    let mut answers = server
        .limiter()
        .check_stream(requests)
        .await
        .unwrap()
        .into_inner();
    let mut allowed = BTreeMap::new();
    while let Some(answer) = answers.next().await {
        let answer = answer.unwrap();
        assert!(
            allowed.insert(answer.id, answer.allowed).is_none(),
            "{} twice",
            answer.id
        );
    }
    assert_eq!(allowed.len(), 100);
    assert_eq!(allowed.values().filter(|allowed| **allowed).count(), 10);
    server.stop().await;
}

#[tokio::test]
async fn a_bad_request_names_the_field() {
    let server = Server::start().await;
    for (cost, text) in [(-1, "refunds"), (1_000_000_001, "1000000000")] {
        let status = server
            .limiter()
            .check(payment(1, Some(cost)))
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().starts_with("cost: "),
            "{}",
            status.message()
        );
        assert!(status.message().contains(text), "{}", status.message());
    }
    let mut request = payment(1, None);
    request
        .descriptors
        .insert("n".repeat(1_000), "v".to_owned());
    let status = server.limiter().check(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(
        status.message().starts_with("descriptors"),
        "{}",
        status.message()
    );
    server.stop().await;
}

#[tokio::test]
async fn health_and_reflection_tell_of_the_service() {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::health_client::HealthClient;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let server = Server::start().await;
    let mut health = HealthClient::new(server.channel.clone());
    for service in ["", "limiter.v1.Limiter"] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let answer = health.check(request).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
    let mut reflection = ServerReflectionClient::new(server.channel.clone());
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection
        .server_reflection_info(tokio_stream::iter([request]))
        .await
        .unwrap();
    let answer = answers.into_inner().next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("{answer:?}");
    };
    let names: Vec<_> = list
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    assert!(names.contains(&"limiter.v1.Limiter"), "{names:?}");
    server.stop().await;
}
