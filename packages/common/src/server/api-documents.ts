import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import fp from 'fastify-plugin'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { documentPages } from './document-pages.ts'

export interface ApiDocumentsOptions {
  readonly title: string
  readonly version: string
  readonly description: string
  /** How callers authenticate, by name. Every route needs one of them unless its schema says `security: []`. */
  readonly securitySchemes?: SecuritySchemes
}

type OpenApi = NonNullable<FastifyDynamicSwaggerOptions['openapi']>
type SecuritySchemes = NonNullable<NonNullable<OpenApi['components']>['securitySchemes']>

/** Collects the schemas of all routes that follow, for `/openapi.json` and `/docs`. Register before any route. */
export const apiDocuments = fp<ApiDocumentsOptions>(
  async (app, { securitySchemes = {}, ...info }) => {
    const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }))
    await app.register(swagger, {
      openapi: { openapi: '3.1.0', info, components: { securitySchemes }, security },
      transform: jsonSchemaTransform,
      transformObject: jsonSchemaTransformObject,
    })
    await app.register(documentPages, { document: () => app.swagger() })
  },
  { name: 'api-documents' },
)
