import type { EndpointRequest } from '@trestle/endpoints/endpoints.ts'
import { badRequest, payloadTooLarge, requestTimeout, unsupportedFileType } from '../errors.ts'
import { type ImportFormat, type ReadLimits, readRecords } from '../imports/read-records.ts'

/** The media type of a file with a product in each line, and of an answer that reports its progress. */
export const LINES_TYPE = 'application/x-ndjson'

/** Begins to read the records of the body. */
export type OpenRecords = () => ReturnType<typeof readRecords>

/**
 * Checks the headers of a body with products. Returns what opens its records.
 * @param silenceMs how long the body may pause
 * @throws unsupportedFileType for other headers than those of CSV or NDJSON, payloadTooLarge for a longer body than is allowed
 */
export function checkImportBody(request: EndpointRequest, limits: ReadLimits, silenceMs: number): OpenRecords {
  const format = formatOf(request.header('content-type'), request.header('content-encoding'))
  if (Number(request.header('content-length') ?? 0) > limits.bytesMax) throw payloadTooLarge()
  return () => readRecords(requestBytes(request.stream(Number.POSITIVE_INFINITY), silenceMs), format, limits)
}

/**
 * The format by the headers of the request. Other charsets and compressed files are refused: their bytes would be read as broken
 * UTF-8, or stored as other letters.
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

/** A media type, with the charset if the parameters name one. */
const CONTENT_TYPE = /^([^;\s]+)\s*(?:;(?:[^;]*;)*?\s*charset\s*=\s*"?([^";\s]*)"?.*|;.*)?$/s
const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii'])

/**
 * The body of a request while it arrives.
 * @throws requestTimeout when nothing arrives for `silenceMs`, badRequest when the client leaves
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
  // The client has left, so nobody reads the answer.
  const read = reading.catch((cause: unknown) => Promise.reject(badRequest({ cause })))
  try {
    return await Promise.race([read, silence])
  } finally {
    clearTimeout(timer)
  }
}
