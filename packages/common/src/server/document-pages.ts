import { hash } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { releaseMemory } from './release-memory.ts'
import { type Encoding, pack, sharedAsset } from './shared-asset.ts'

export interface DocumentPagesOptions {
  /** The OpenAPI document, asked for once. */
  readonly document: () => object | Promise<object>
}

export const DOCS_PATH = '/docs'
const PAGE_PATH = `${DOCS_PATH}/`
const SCRIPT_PATH = `${DOCS_PATH}/js/scalar.js`
/** The page and the document change with a release: clients ask each time whether theirs is the current one. */
const ASK_EACH_TIME = 'no-cache'
const KEEP_A_DAY = 'public, max-age=86400'

/** `GET /openapi.json`, and a page over it at `GET /docs`. */
export const documentPages = fp<DocumentPagesOptions>(
  async (app, { document }) => {
    const hidden = { schema: { hide: true } }
    const json = once(async () => {
      const bytes = Buffer.from(JSON.stringify(await document()))
      // The library that made it leaves some 20 MiB behind.
      releaseMemory()
      return bytes
    })
    app.get(
      '/openapi.json',
      hidden,
      sharedAsset({
        type: 'application/json; charset=utf-8',
        cacheControl: ASK_EACH_TIME,
        load: async (encoding) => pack(await json(), encoding),
      }),
    )
    const servePage = pageAsset()
    const serveDocs = (request: FastifyRequest, reply: FastifyReply) =>
      // The page names its script relative to itself.
      isPage(request.url) ? servePage(request, reply) : reply.redirect(PAGE_PATH, 301)
    app.get(DOCS_PATH, hidden, serveDocs)
    if (app.initialConfig.routerOptions?.ignoreTrailingSlash !== true) app.get(PAGE_PATH, hidden, serveDocs)
    app.get(
      SCRIPT_PATH,
      hidden,
      sharedAsset({
        type: 'application/javascript; charset=utf-8',
        cacheControl: KEEP_A_DAY,
        load: (encoding) => render(SCRIPT_PATH, encoding),
      }),
    )
  },
  { name: 'document-pages' },
)

type Serve = ReturnType<typeof sharedAsset>

/** The page, with a policy that names the inline script that it has. */
function pageAsset(): Serve {
  const open = once(async () => {
    const html = await render(PAGE_PATH, 'identity')
    return sharedAsset({
      type: 'text/html; charset=utf-8',
      cacheControl: ASK_EACH_TIME,
      headers: { 'content-security-policy': contentSecurityPolicy(html.toString()) },
      load: (encoding) => pack(html, encoding),
    })
  })
  return async (request, reply) => (await open())(request, reply)
}

function isPage(url: string): boolean {
  return url.split('?', 1)[0]?.endsWith('/') === true
}

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

const RENDER_MS = 30_000
const RENDERED_BYTES_MAX = 16 * 1024 * 1024

/** What the library serves at a path. Another process loads the library: it would take 60 MiB of this one. */
async function render(path: string, encoding: Encoding): Promise<Buffer> {
  const { execFile } = await import('node:child_process')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(import.meta.dirname, 'render-document-page.ts'), path, encoding],
    // The settings of the service, its secrets among them, are nothing to the library.
    { encoding: 'buffer', env: {}, maxBuffer: RENDERED_BYTES_MAX, timeout: RENDER_MS },
  )
  return stdout
}

/** Does the work once for all callers; again after it has failed. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    if (result === undefined) {
      result = work()
      result.catch(() => {
        result = undefined
      })
    }
    return result
  }
}
