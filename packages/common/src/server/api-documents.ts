import swagger, { type FastifyDynamicSwaggerOptions, type SwaggerTransformObject } from '@fastify/swagger'
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

type Documented = ReturnType<SwaggerTransformObject>
type OpenApi = NonNullable<FastifyDynamicSwaggerOptions['openapi']>
type SecuritySchemes = NonNullable<NonNullable<OpenApi['components']>['securitySchemes']>

/** Collects the schemas of all routes that follow, for `/openapi.json` and `/docs`. Register before any route. */
export const apiDocuments = fp<ApiDocumentsOptions>(
  async (app, { securitySchemes = {}, ...info }) => {
    const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }))
    await app.register(swagger, {
      openapi: { openapi: '3.1.0', info, components: { securitySchemes }, security },
      transform: jsonSchemaTransform,
      transformObject: (document) => withoutUnused(jsonSchemaTransformObject(document)),
    })
    await app.register(documentPages, { document: () => app.swagger() })
  },
  { name: 'api-documents' },
)

/** Named schemas come twice, as they are sent and as they are read: what nothing refers to is taken out. */
function withoutUnused(document: Documented): Documented {
  const text = JSON.stringify(document)
  const schemas = ('components' in document ? document.components?.schemas : undefined) ?? {}
  for (const name of Object.keys(schemas)) {
    if (!text.includes(`"#/components/schemas/${name}"`)) Reflect.deleteProperty(schemas, name)
  }
  return document
}
