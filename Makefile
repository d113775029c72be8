# `make` lists what there is. `tests/run` is what a change must pass; `make verify` is the same without installing anything.

.DEFAULT_GOAL := help
.PHONY: help verify fix bench

help: ## This list.
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

verify: ## Format, lints, tests, and licences where cargo-deny is installed. Changes nothing.
	cargo fmt --all --check
	cargo clippy --release --locked --workspace --all-targets -- -D warnings
	cargo test --release --locked --workspace
	@if command -v cargo-deny >/dev/null; then cargo deny check; else echo "cargo-deny is not installed: licences not checked"; fi

fix: ## Formats, and applies what clippy can by itself.
	cargo fmt --all
	cargo clippy --release --workspace --all-targets --fix --allow-dirty --allow-staged

bench: ## Benchmarks of deciding and of the frames.
	cargo bench --locked --package limiter-core --package sync-proto
