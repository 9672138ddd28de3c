import reference from '@scalar/fastify-api-reference'
import { fastify } from 'fastify'
import { type Encoding, pack } from './shared-asset.ts'

// Prints the script that shows API documents, compressed: `node print-page-script.ts <br|gzip|identity>`. It runs in a separate
// process, because the library takes 60 MiB. A service that loaded it would keep that memory until it ends.

const [, , encoding = 'identity'] = process.argv

const pages = fastify()
await pages.register(reference, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
const { statusCode, rawPayload } = await pages.inject({ method: 'GET', url: '/docs/js/scalar.js' })
if (statusCode !== 200) throw new Error(`the library answers ${statusCode}`)
process.stdout.write(await pack(rawPayload, isEncoding(encoding) ? encoding : 'identity'))

function isEncoding(word: string): word is Encoding {
  return ['br', 'gzip', 'identity'].includes(word)
}
