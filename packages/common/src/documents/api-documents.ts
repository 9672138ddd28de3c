import type { FastifyDynamicSwaggerOptions, SwaggerTransformObject } from '@fastify/swagger'
import { fastify, type RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import { z } from 'zod'
import { createDocumentPages, readApiDocument } from './document-pages.ts'

export interface ApiDocumentsOptions {
  readonly title: string
  readonly version: string
  readonly description: string
  /** The file of the API document. If it is `undefined`, clients cannot read the document. */
  readonly file: URL | undefined
  /** The authentication schemes, by name. Every route needs one of them, unless its schema says `security: []`. */
  readonly securitySchemes?: SecuritySchemes
  /** Further schemes. Only routes that name such a scheme in their schema need it. */
  readonly otherSchemes?: SecuritySchemes
}

export type ApiDocument = Awaited<ReturnType<typeof describeRoutes>>

type Documented = ReturnType<SwaggerTransformObject>
type OpenApi = NonNullable<FastifyDynamicSwaggerOptions['openapi']>
type SecuritySchemes = NonNullable<NonNullable<OpenApi['components']>['securitySchemes']>

/**
 * Collects all routes that are registered after it, and creates the handlers of `/openapi.json` and `/docs`. `describeApi`
 * generates the document with a library of about 90 files. A process that serves requests reads a file instead.
 */
export const apiDocuments = fp<ApiDocumentsOptions>(
  async (app, { securitySchemes = {}, otherSchemes = {}, file, ...info }) => {
    const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }))
    const components = { securitySchemes: { ...securitySchemes, ...otherSchemes } }
    const openapi = { openapi: '3.1.0', info, components, security }
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => {
      if (route.method !== 'HEAD' && route.schema?.hide !== true) routes.push(route)
    })
    app.decorate('describeApi', () => describeRoutes(routes, openapi))
    app.decorate('documentPages', file && createDocumentPages(info.title, () => readApiDocument(file)))
  },
  { name: 'api-documents' },
)

/** Registers the schemas of the routes on a separate server, which the library describes. */
async function describeRoutes(routes: readonly RouteOptions[], openapi: OpenApi) {
  const { default: swagger } = await import('@fastify/swagger')
  const app = fastify({ exposeHeadRoutes: false })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(swagger, {
    openapi,
    transform: jsonSchemaTransform,
    transformObject: (document) => removeUnusedSchemas(jsonSchemaTransformObject(document)),
  })
  for (const { method, url, schema } of routes) app.route({ method, url, ...(schema && { schema }), handler: () => {} })
  await app.ready()
  const document = app.swagger()
  for (const route of routes) markOptionalBody(document, route)
  return document
}

/** Marks a body as optional if its schema or route says so. The library marks every body as required. */
function markOptionalBody({ paths = {} }: { paths?: object }, { method, url, schema }: RouteOptions): void {
  const body: unknown = schema?.body
  if (!(body instanceof z.ZodType)) return
  const item: unknown = Reflect.get(paths, url.replaceAll(/:(\w+)/g, '{$1}'))
  const isRequired = schema?.bodyRequired ?? body._zod.optin !== 'optional'
  for (const name of [method].flat()) {
    const requestBody = memberOf(memberOf(item, name.toLowerCase()), 'requestBody')
    if (isObject(requestBody)) Reflect.set(requestBody, 'required', isRequired)
  }
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? Reflect.get(value, name) : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Removes the schemas that no route uses. The library lists each named schema twice, for input and for output. */
function removeUnusedSchemas(document: Documented): Documented {
  const schemas: Record<string, unknown> = ('components' in document && document.components?.schemas) || {}
  const used = new Set<string>()
  const markUsed = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue
      used.add(name)
      markUsed(schemas[name])
    }
  }
  markUsed(document.paths)
  for (const name of Object.keys(schemas)) if (!used.has(name)) Reflect.deleteProperty(schemas, name)
  return document
}

declare module 'fastify' {
  interface FastifySchema {
    /** Whether requests must have a body, if a handler chooses the error of an absent body instead of the schema. */
    bodyRequired?: boolean
  }
  interface FastifyInstance {
    describeApi(): Promise<ApiDocument>
  }
}
