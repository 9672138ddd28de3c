import { type EndpointRequest, p } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'
import { badRequest, payloadTooLarge, requestTimeout, unsupportedFileType } from '../errors.ts'
import type { ImportFormat, ReadLimits } from '../imports/read-records.ts'
import { IMPORT_MODES } from '../use-cases/import-products.ts'

/** A file with one product per line, or an answer that reports progress. */
export const LINES_TYPE = 'application/x-ndjson'

export const ImportKeywords = z.object({
  mode: p
    .oneOf(...IMPORT_MODES)
    .default('insert')
    .meta({ description: 'What happens to a product whose SKU is taken' }),
  atomic: p.bool().default(false).meta({ description: 'Stores all products, or none' }),
  dryRun: p.bool().default(false).meta({ description: 'Reports what would happen, and stores nothing' }),
})

export interface ImportBody {
  readonly format: ImportFormat
  readonly open: () => AsyncGenerator<Uint8Array, void>
}

/**
 * Checks the headers of a body with products. Returns the format and a function that opens the body.
 * @param silenceMs the maximum pause of the body in milliseconds
 * @throws unsupportedFileType unless the headers state CSV or NDJSON, payloadTooLarge if the body is longer than allowed
 */
export function checkImportBody(
  request: EndpointRequest,
  { bytesMax }: Pick<ReadLimits, 'bytesMax'>,
  silenceMs: number,
): ImportBody {
  const format = formatOf(request.header('content-type'), request.header('content-encoding'))
  if (Number(request.header('content-length') ?? 0) > bytesMax) throw payloadTooLarge()
  return { format, open: () => requestBytes(request.stream(Number.POSITIVE_INFINITY), silenceMs) }
}

/**
 * Returns the format that the headers state. Refuses other charsets and compressed files, because their bytes would be read as
 * invalid UTF-8 or stored as other characters.
 * @throws unsupportedFileType for any other format
 */
function formatOf(contentType = '', encoding = 'identity'): ImportFormat {
  const [, type, charset] = CONTENT_TYPE.exec(contentType.trim().toLowerCase()) ?? []
  const isUtf8 = charset === undefined || UTF_8.has(charset)
  if (isUtf8 && encoding.trim().toLowerCase() === 'identity') {
    if (type === 'text/csv') return 'csv'
    if (type === LINES_TYPE) return 'ndjson'
  }
  throw unsupportedFileType()
}

/** A media type, with the charset if a parameter states one. */
const CONTENT_TYPE = /^([^;\s]+)\s*(?:;(?:[^;]*;)*?\s*charset\s*=\s*"?([^";\s]*)"?.*|;.*)?$/s
const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/**
 * Yields the body of a request while it arrives.
 * @throws requestTimeout if nothing arrives for `silenceMs`, badRequest if the client disconnects
 */
async function* requestBytes(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await readWithTimeout(reader.read(), silenceMs)
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

async function readWithTimeout<T>(reading: Promise<T>, silenceMs: number): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(requestTimeout()), silenceMs)
  // The client has disconnected, so no one reads the answer.
  const read = reading.catch((cause: unknown) => Promise.reject(badRequest({ cause })))
  try {
    return await Promise.race([read, silence])
  } finally {
    clearTimeout(timer)
  }
}
