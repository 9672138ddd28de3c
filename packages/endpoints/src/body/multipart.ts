import { type MultipartError, make, type PartInfo } from 'multipasta'
import { type ByteStream, toWebStream } from '../answers/byte-stream.ts'
import { addKeyword, emptyKeywords, type Keywords } from '../binding/keywords.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'
import { ByteCollector, decodeUtf8, notUtf8 } from './body-source.ts'
import { isUtf8, parseMediaType } from './media-type.ts'

/** Limits of a form: the number of parts, and bytes. */
export interface MultipartLimits {
  readonly parts: number
  /** Largest file, in bytes. */
  readonly fileBytes: number
  /** Largest field without a file, in bytes. */
  readonly fieldBytes: number
}

export interface FormPart {
  readonly name: string
  /** Undefined for a field without a file. */
  readonly filename: string | undefined
  readonly type: string
  /** The bytes of the part, once. Bytes that are unread when the next part is requested are skipped. */
  readonly stream: () => ReadableStream<Uint8Array>
  /** All bytes of the part. */
  readonly bytes: () => Promise<Uint8Array>
  /** All bytes of the part, as UTF-8. It throws CallError 400 for other bytes, and 415 for a part that names another charset. */
  readonly text: () => Promise<string>
}

type Found =
  | { readonly info: PartInfo; readonly field: Uint8Array | undefined }
  /** Bytes of the last file. */
  | { readonly chunk: Uint8Array }
  | 'end of file'

/**
 * Reads the parts of `multipart/form-data` one after the other. It reads no more of the body than is requested.
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
      // The handler may ask for the next part before it has read a file to its end.
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

/** Reads a form: fields as texts, files as `File`. @throws CallError as `formParts` does */
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

/** Feeds the parser with the body, and returns the fields and files. */
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
      // Treat fields as files too: the parser would keep an object for each chunk of a field, and a chunk may be one byte.
      isFile: () => true,
      maxParts: parts,
      onField: () => {},
      onFile: (info) => {
        const filename = dispositionOf(info, 'filename')
        if (filename === undefined) return this.#collectField(info, fieldBytes)
        let size = 0
        // A browser sends a file without a name and without bytes where no file was chosen.
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

  /** Undefined at the end of the form. Stops at a fault, because the parser would go on collecting a field. */
  async next(): Promise<Found | undefined> {
    while (this.#fault === undefined && this.#found.length === 0 && !this.#isRead) await this.#feed()
    if (this.#fault !== undefined) throw this.#fault
    return this.#found.shift()
  }

  /** The bytes of the file that began last. They end when the next part is requested. */
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

  /** Ends the stream of the last file, which a reader may still hold. */
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
      // For example a file name that cannot be decoded.
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
  // The parser replaces bytes of a header that are not UTF-8, so a name in another charset would pass for a text of this one.
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

/** A part may name its charset, as a body may. @throws CallError 415 for another one than UTF-8 */
function requireUtf8({ headers }: PartInfo, bytes: Uint8Array): Uint8Array {
  const media = parseMediaType(String(headers['content-type'] ?? ''))
  if (media !== undefined && !isUtf8(media)) throw new CallError(415)
  return bytes
}

/**
 * A parameter of `Content-Disposition`, without the escapes of browsers (`%22`) and of other clients (`\"`). It is read from the
 * header, because the parser refuses names beyond Latin-1, which browsers send unencoded.
 */
function dispositionOf({ headers, filename }: PartInfo, name: string): string | undefined {
  const header = String(headers['content-disposition'] ?? '')
  // The flag `y` makes each match start where the last one ended. So a quoted name cannot hide another parameter, and the time
  // is linear.
  const parameter = /\s*;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))/y
  parameter.lastIndex = 'form-data'.length
  for (let found = parameter.exec(header); found !== null; found = parameter.exec(header)) {
    const [, key = '', quoted, token = ''] = found
    if (key.toLowerCase() !== name || !/^form-data/i.test(header)) continue
    return (quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token).replaceAll(/%(?:0A|0D|22)/gi, decodeURIComponent)
  }
  // A name may come in the encoded form only (`filename*`, RFC 8187), which the parser has decoded.
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
