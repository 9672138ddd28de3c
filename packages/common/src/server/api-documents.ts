import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'

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
    app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
    const serve = servePages()
    const slashMatters = app.initialConfig.routerOptions?.ignoreTrailingSlash !== true
    for (const url of ['/docs', ...(slashMatters ? ['/docs/'] : []), '/docs/js/scalar.js']) {
      app.get(url, { schema: { hide: true } }, serve)
    }
  },
  { name: 'api-documents' },
)

/**
 * The pages bring a program of four megabytes along. It is read when somebody asks for it, since few ever do: a start would
 * take a tenth longer, and hold 25 MiB more from then on.
 */
function servePages() {
  let pages: Promise<FastifyInstance> | undefined
  return async (request: FastifyRequest, reply: FastifyReply) => {
    pages ??= openPages()
    const page = await (await pages).inject({ method: 'GET', url: request.url })
    const { location, 'content-type': type } = page.headers
    if (location !== undefined) reply.header('location', location)
    if (type !== undefined) reply.header('content-type', type)
    return reply.code(page.statusCode).send(page.rawPayload)
  }
}

async function openPages(): Promise<FastifyInstance> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const pages = fastify()
  await pages.register(reference, {
    routePrefix: '/docs',
    configuration: { url: '/openapi.json', withDefaultFonts: false, telemetry: false, hideClientButton: true },
  })
  return pages
}
