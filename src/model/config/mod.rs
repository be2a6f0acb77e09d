//! The configuration of the scheduler (`queues.yaml`) as yunikorn-core reads, validates and activates it.
