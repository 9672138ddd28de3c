import { hash } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

export interface DocumentPagesOptions {
  /** The OpenAPI document, asked for at each request. */
  readonly document: () => object | Promise<object>
}

/** `GET /openapi.json`, and a page over it at `GET /docs`. */
export const documentPages = fp<DocumentPagesOptions>(
  async (app, { document }) => {
    app.get('/openapi.json', { schema: { hide: true } }, async () => document())
    const serve = servePages()
    const slashMatters = app.initialConfig.routerOptions?.ignoreTrailingSlash !== true
    for (const url of ['/docs', ...(slashMatters ? ['/docs/'] : []), '/docs/js/scalar.js']) {
      app.get(url, { schema: { hide: true } }, serve)
    }
  },
  { name: 'document-pages' },
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
    if (type?.includes('html')) reply.header('content-security-policy', contentSecurityPolicy(page.payload))
    return reply.code(page.statusCode).send(page.rawPayload)
  }
}

/** Nothing that leads to a foreign host: no fonts, no telemetry, no assistants, no tools of the maker. */
const CONFIGURATION = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  agent: { disabled: true },
  mcp: { disabled: true },
} as const

/**
 * Lets the page run its own program and the one inline script that starts it, told by its digest, and reach this host alone.
 * The program writes style elements, hence the styles.
 */
function contentSecurityPolicy(html: string): string {
  const inline = [...html.matchAll(/<script type="text\/javascript">([\s\S]*?)<\/script>/g)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  )
  return [
    "default-src 'none'",
    ["script-src 'self'", ...inline].join(' '),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

async function openPages(): Promise<FastifyInstance> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const pages = fastify()
  await pages.register(reference, {
    routePrefix: '/docs',
    configuration: CONFIGURATION,
  })
  return pages
}
