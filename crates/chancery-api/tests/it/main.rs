//! What is made of the routes: the OpenAPI document and the TypeScript client.

mod openapi;
mod typescript;
