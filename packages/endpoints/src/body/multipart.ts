import { type MultipartError, make, type PartInfo } from 'multipasta'
import { type ByteStream, toWebStream } from '../answers/byte-stream.ts'
import { addKeyword, emptyKeywords, type Keywords } from '../binding/keywords.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'
import { ByteCollector, decodeUtf8, notUtf8 } from './body-source.ts'
import { isUtf8, parseMediaType } from './media-type.ts'

/** The limits of a form. */
export interface MultipartLimits {
  readonly parts: number
  /** The largest file, in bytes. */
  readonly fileBytes: number
  /** The largest field that is not a file, in bytes. */
  readonly fieldBytes: number
}

export interface FormPart {
  readonly name: string
  /** `undefined` for a field that is not a file. */
  readonly filename: string | undefined
  readonly type: string
  /** Returns the bytes of the part, once. If the next part is requested, unread bytes are skipped. */
  readonly stream: () => ReadableStream<Uint8Array>
  /** Returns all bytes of the part. */
  readonly bytes: () => Promise<Uint8Array>
  /** All bytes as UTF-8 text. @throws CallError 400 for invalid bytes, 415 if the part states another charset */
  readonly text: () => Promise<string>
}

type Found =
  | { readonly info: PartInfo; readonly field: Uint8Array | undefined }
  /** Bytes of the last file. */
  | { readonly chunk: Uint8Array }
  | 'end of file'

/**
 * Reads the parts of `multipart/form-data` one after the other. Reads only as much of the body as is requested.
 * @throws CallError 400 for a malformed form, 413 for too many or too large parts
 */
export async function* formParts(
  body: ByteStream,
  contentType: string,
  limits: MultipartLimits,
): AsyncGenerator<FormPart, void> {
  const reader = new PartReader(body, contentType, limits)
  try {
    for (let found = await reader.next(); found !== undefined; found = await reader.next()) {
      // The handler may request the next part before it has read a file to its end.
      if (found === 'end of file' || 'chunk' in found) continue
      reader.endFile()
      yield toPart(found.info, found.field === undefined ? reader.file() : once(found.field))
    }
  } finally {
    body.close()
  }
}

interface FormOptions {
  readonly contentType: string | undefined
  readonly multipart: MultipartLimits
  readonly absentIfEmpty: (name: string) => boolean
}

/** Reads a form. Fields become strings, and files become `File` objects. @throws CallError as `formParts` does */
export async function readForm(
  body: ByteStream,
  { contentType = '', multipart, absentIfEmpty }: FormOptions,
): Promise<Keywords> {
  const keywords = emptyKeywords()
  for await (const part of formParts(body, contentType, multipart)) {
    const { name, filename } = part
    const value =
      filename === undefined
        ? await part.text()
        : new File([new Uint8Array(await part.bytes())], filename, { type: part.type })
    if (value !== '' || !absentIfEmpty(name)) addKeyword(keywords, name, value)
  }
  return keywords
}

/** Passes the body to the parser and returns the fields and files. */
class PartReader {
  readonly #body: ByteStream
  readonly #found: Found[] = []
  readonly #parser: ReturnType<typeof make>
  #fault: CallError | undefined
  #isDone = false
  #isRead = false
  #isEmpty = true
  #files = 0

  constructor(body: ByteStream, contentType: string, { parts, fileBytes, fieldBytes }: MultipartLimits) {
    this.#body = body
    this.#parser = make({
      headers: { 'content-type': contentType },
      // Treat fields as files too. The parser would keep an object per chunk of a field, and a chunk may have one byte.
      isFile: () => true,
      maxParts: parts,
      onField: () => {},
      onFile: (info) => {
        const filename = dispositionOf(info, 'filename')
        if (filename === undefined) return this.#collectField(info, fieldBytes)
        let size = 0
        // If no file was chosen, a browser sends a file without a name and without bytes.
        let isHeld = filename === ''
        if (!isHeld) this.#found.push({ info, field: undefined })
        return (chunk) => {
          if (isHeld && (chunk?.byteLength ?? 0) === 0) return
          if (isHeld) this.#found.push({ info, field: undefined })
          isHeld = false
          size += chunk?.byteLength ?? 0
          if (size > fileBytes) this.#fault ??= new CallError(413, PROBLEM_TEXTS.fileTooLarge)
          this.#found.push(chunk === null ? 'end of file' : { chunk })
        }
      },
      onError: (error) => {
        this.#fault ??= faultOf(error, parts)
      },
      onDone: () => {
        this.#isDone = true
      },
    })
  }

  /** Returns `undefined` at the end of the form. Stops at a fault, because the parser would continue to collect a field. */
  async next(): Promise<Found | undefined> {
    while (this.#fault === undefined && this.#found.length === 0 && !this.#isRead) await this.#feed()
    if (this.#fault !== undefined) throw this.#fault
    return this.#found.shift()
  }

  /** Returns the bytes of the file that began last. The stream ends when the next part is requested. */
  file(): ByteStream {
    this.#files += 1
    const turn = this.#files
    let isOver = false
    const next = async (): Promise<Uint8Array | undefined> => {
      const found = isOver || turn !== this.#files ? undefined : await this.next()
      if (found !== undefined && found !== 'end of file' && 'chunk' in found) return found.chunk
      isOver = true
      return undefined
    }
    return { next, close: () => {} }
  }

  /** Ends the stream of the last file, which a reader may still use. */
  endFile(): void {
    this.#files += 1
  }

  #collectField(info: PartInfo, bytesMax: number): (chunk: Uint8Array | null) => void {
    const collected = new ByteCollector()
    return (chunk) => {
      if (chunk === null) this.#found.push({ info, field: collected.bytes() })
      else collected.add(chunk)
      if (collected.size > bytesMax) this.#fault ??= new CallError(413, PROBLEM_TEXTS.fieldTooLarge)
    }
  }

  async #feed(): Promise<void> {
    const bytes = await this.#body.next()
    this.#isEmpty &&= bytes === undefined
    try {
      if (bytes === undefined) this.#parser.end()
      else this.#parser.write(bytes)
    } catch (cause) {
      // An example is a file name that cannot be decoded.
      this.#fault ??= malformed(cause)
    }
    if (bytes !== undefined) return
    this.#isRead = true
    if (!this.#isDone && !this.#isEmpty) this.#fault ??= malformed()
  }
}

function toPart(info: PartInfo, stream: ByteStream): FormPart {
  const bytes = async (): Promise<Uint8Array> => {
    const collected = new ByteCollector()
    for (let chunk = await stream.next(); chunk !== undefined; chunk = await stream.next()) collected.add(chunk)
    return collected.bytes()
  }
  const name = dispositionOf(info, 'name')
  if (name === undefined) throw malformed()
  // The parser replaces header bytes that are not UTF-8. Refuse them, because a name would be read with wrong characters.
  if (
    Object.values(info.headers)
      .flat()
      .some((header) => header?.includes('\uFFFD'))
  )
    throw notUtf8()
  return {
    name,
    filename: dispositionOf(info, 'filename'),
    type: info.contentType,
    stream: () => toWebStream(stream),
    bytes,
    text: async () => decodeUtf8(requireUtf8(info, await bytes())),
  }
}

/** Checks the charset of a part, which a part may state like a body. @throws CallError 415 if the charset is not UTF-8 */
function requireUtf8({ headers }: PartInfo, bytes: Uint8Array): Uint8Array {
  const media = parseMediaType(String(headers['content-type'] ?? ''))
  if (media !== undefined && !isUtf8(media)) throw new CallError(415)
  return bytes
}

/**
 * Returns a parameter of `Content-Disposition`, without the escapes of browsers (`%22`) and of other clients (`\"`). The function
 * reads the raw header, because the parser refuses unencoded names beyond Latin-1, which browsers send.
 */
function dispositionOf({ headers, filename }: PartInfo, name: string): string | undefined {
  const header = String(headers['content-disposition'] ?? '')
  // With the flag `y`, each match starts where the last match ended. So a quoted name cannot hide another parameter, and the time
  // is linear.
  const parameter = /\s*;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))/y
  parameter.lastIndex = 'form-data'.length
  for (let found = parameter.exec(header); found !== null; found = parameter.exec(header)) {
    const [, key = '', quoted, token = ''] = found
    if (key.toLowerCase() !== name || !/^form-data/i.test(header)) continue
    return (quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token).replaceAll(/%(?:0A|0D|22)/gi, decodeURIComponent)
  }
  // A name may be present only in the encoded form (`filename*`, RFC 8187), which the parser has decoded.
  return name === 'filename' ? filename : undefined
}

function once(bytes: Uint8Array): ByteStream {
  let left: Uint8Array | undefined = bytes
  const next = async (): Promise<Uint8Array | undefined> => {
    const given = left
    left = undefined
    return given
  }
  return { next, close: () => {} }
}

function faultOf(error: MultipartError, parts: number): CallError {
  return error._tag === 'ReachedLimit'
    ? new CallError(413, PROBLEM_TEXTS.tooManyParts({ max: parts }))
    : malformed(error)
}

function malformed(cause?: unknown): CallError {
  return new CallError(400, PROBLEM_TEXTS.notMultipart, { cause })
}
