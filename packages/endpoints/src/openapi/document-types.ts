export type JsonSchema = { [key: string]: unknown }

/** One method of a URL in the document. */
export interface Operation {
  readonly operationId: string
  readonly [key: string]: unknown
}

/** Title and version of an API. */
export interface DocumentInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
}

/** The place of an API: an address, or a path such as `/api` when it is mounted below another one. */
export interface DocumentServer {
  readonly url: string
  readonly description?: string
}

/** A description of an application by OpenAPI 3.1. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: DocumentInfo
  readonly servers?: readonly DocumentServer[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: JsonSchema; readonly securitySchemes: JsonSchema }
}
