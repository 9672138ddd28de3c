export type JsonSchema = { [key: string]: unknown }

export interface Operation {
  readonly operationId: string
  readonly [key: string]: unknown
}

export interface DocumentInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
}

/** The location of an API: a URL, or a path such as `/api` if the API is mounted below another one. */
export interface DocumentServer {
  readonly url: string
  readonly description?: string
}

/** An OpenAPI 3.1 document of an application. */
export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: DocumentInfo
  readonly servers?: readonly DocumentServer[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: JsonSchema; readonly securitySchemes: JsonSchema }
}
