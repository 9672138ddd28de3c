import reference from '@scalar/fastify-api-reference'
import { fastify } from 'fastify'
import { DOCS_PATH } from './document-pages.ts'
import { type Encoding, pack } from './shared-asset.ts'

// Prints what the library serves at a path, packed: `node render-document-page.ts <path> <br|gzip|identity>`. A process of its
// own does this, since the library takes 60 MiB to load, which a service would keep as long as it lives.

const [, , path = DOCS_PATH, encoding = 'identity'] = process.argv

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

const pages = fastify()
await pages.register(reference, { routePrefix: DOCS_PATH, configuration: CONFIGURATION })
const { statusCode, rawPayload } = await pages.inject({ method: 'GET', url: path })
if (statusCode !== 200) throw new Error(`${path} answers ${statusCode}`)
process.stdout.write(await pack(rawPayload, isEncoding(encoding) ? encoding : 'identity'))

function isEncoding(word: string): word is Encoding {
  return ['br', 'gzip', 'identity'].includes(word)
}
