import { addKeyword, emptyKeywords, type Keywords } from '../binding/keywords.ts'
import { CallError } from '../errors.ts'

const PARTS_MAX = 100
const FILE_BYTES_MAX = 10 * 1024 * 1024
const FIELD_BYTES_MAX = 1024 * 1024

/**
 * Reads `multipart/form-data`: fields as texts, files as `File`.
 * @throws CallError 400 when it is malformed, 413 for too many or too large parts.
 */
export async function parseMultipart(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<Keywords> {
  const form = await readForm(bytes, contentType)
  const keywords = emptyKeywords()
  let parts = 0
  for (const [name, value] of form) {
    parts += 1
    if (parts > PARTS_MAX) throw new CallError(413, `The form has more than ${PARTS_MAX} parts`)
    if (typeof value === 'string') {
      if (new Blob([value]).size > FIELD_BYTES_MAX) throw new CallError(413, 'A field is too large')
    } else if (value.size > FILE_BYTES_MAX) {
      throw new CallError(413, 'A file is too large')
    }
    addKeyword(keywords, name, value)
  }
  return keywords
}

async function readForm(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<FormData> {
  try {
    return await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw new CallError(400, 'The body is no multipart form', { cause })
  }
}
