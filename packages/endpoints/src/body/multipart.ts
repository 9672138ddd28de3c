import { decodeField, type MultipartError, make, type PartInfo } from 'multipasta'
import { type ByteStream, toWebStream } from '../answers/byte-stream.ts'
import { addKeyword, emptyKeywords, type Keywords } from '../binding/keywords.ts'
import { CallError } from '../errors.ts'
import { ByteCollector } from './body-source.ts'

/** What a form may hold. */
export interface MultipartLimits {
  readonly parts: number
  /** Largest file, in bytes. */
  readonly fileBytes: number
  /** Largest field that is no file, in bytes. */
  readonly fieldBytes: number
}

/** One part of a form, as it comes. */
export interface FormPart {
  readonly name: string
  /** Undefined for a field that is no file. */
  readonly filename: string | undefined
  /** Media type, as the client says. */
  readonly type: string
  /** The bytes of the part, once. What is not read when the next part is asked for is skipped. */
  readonly stream: () => ReadableStream<Uint8Array>
  /** All of them. */
  readonly bytes: () => Promise<Uint8Array>
  /** All of them, as UTF-8. */
  readonly text: () => Promise<string>
}

type Found =
  | { readonly info: PartInfo; readonly field: Uint8Array | undefined }
  /** Bytes of the last file. */
  | { readonly chunk: Uint8Array }
  | 'end of file'

/**
 * The parts of `multipart/form-data`, one after the other, while they come: no more of the body is read than is asked for.
 * @throws CallError 400 when it is malformed, 413 for too many or too large parts.
 */
export async function* formParts(
  body: ByteStream,
  contentType: string,
  limits: MultipartLimits,
): AsyncGenerator<FormPart, void> {
  const reader = new PartReader(body, contentType, limits)
  try {
    for (let found = await reader.next(); found !== undefined; found = await reader.next()) {
      // The rest of a file that nobody has read.
      if (found === 'end of file' || 'chunk' in found) continue
      reader.endFile()
      yield toPart(found.info, found.field === undefined ? reader.file() : once(found.field))
    }
  } finally {
    body.close()
  }
}

/** Fields as texts, files as `File`. @throws CallError as above. */
export async function readForm(body: ByteStream, contentType: string, limits: MultipartLimits): Promise<Keywords> {
  const keywords = emptyKeywords()
  for await (const part of formParts(body, contentType, limits)) {
    const { name, filename } = part
    const bytes = await part.bytes()
    const value =
      filename === undefined
        ? new TextDecoder().decode(bytes)
        : new File([new Uint8Array(bytes)], filename, { type: part.type })
    addKeyword(keywords, name, value)
  }
  return keywords
}

/** Feeds the parser with the body, and hands on what it finds. */
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
      // Fields too: the parser would keep an object for each chunk of a field, and a chunk may be one byte.
      isFile: () => true,
      maxParts: parts,
      onField: () => {},
      onFile: (info) => {
        if (dispositionOf(info, 'filename') === undefined) return this.#collectField(info, fieldBytes)
        this.#found.push({ info, field: undefined })
        let size = 0
        return (chunk) => {
          size += chunk?.byteLength ?? 0
          if (size > fileBytes) this.#fault ??= new CallError(413, 'A file is too large')
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

  /** Undefined at the end of the form. Reads no further than a fault: the parser would go on collecting a field. */
  async next(): Promise<Found | undefined> {
    while (this.#fault === undefined && this.#found.length === 0 && !this.#isRead) await this.#feed()
    if (this.#fault !== undefined) throw this.#fault
    return this.#found.shift()
  }

  /** The bytes of the file whose beginning was handed on last; none any more once the next part was asked for. */
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

  /** The file that was handed on last has no more bytes for whoever still holds it. */
  endFile(): void {
    this.#files += 1
  }

  #collectField(info: PartInfo, limit: number): (chunk: Uint8Array | null) => void {
    const collected = new ByteCollector()
    return (chunk) => {
      if (chunk === null) this.#found.push({ info, field: collected.bytes() })
      else collected.add(chunk)
      if (collected.size > limit) this.#fault ??= new CallError(413, 'A field is too large')
    }
  }

  async #feed(): Promise<void> {
    const bytes = await this.#body.next()
    this.#isEmpty &&= bytes === undefined
    try {
      if (bytes === undefined) this.#parser.end()
      else this.#parser.write(bytes)
    } catch (cause) {
      // A file name that cannot be decoded, for instance.
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
  return {
    name,
    filename: dispositionOf(info, 'filename'),
    type: info.contentType,
    stream: () => toWebStream(stream),
    bytes,
    text: async () => decodeField(info, await bytes()),
  }
}

/**
 * A parameter of `Content-Disposition`, without the escapes of browsers (`%22`) and of others (`\"`). It is read from the
 * header itself: the parser gives up at names beyond Latin-1, which browsers send as they are.
 */
function dispositionOf({ headers, filename }: PartInfo, name: string): string | undefined {
  const header = String(headers['content-disposition'] ?? '')
  // It goes on where it stopped, so that a name in quotes cannot hold another parameter, and the time is linear.
  const parameter = /\s*;\s*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]*))/y
  parameter.lastIndex = 'form-data'.length
  for (let found = parameter.exec(header); found !== null; found = parameter.exec(header)) {
    const [, key = '', quoted, token = ''] = found
    if (key.toLowerCase() !== name || !/^form-data/i.test(header)) continue
    return (quoted?.replaceAll(/\\(["\\])/g, '$1') ?? token).replaceAll(/%(?:0A|0D|22)/gi, decodeURIComponent)
  }
  // Where it is encoded (`filename*`) the parser has read it.
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
  return error._tag === 'ReachedLimit' ? new CallError(413, `The form has more than ${parts} parts`) : malformed(error)
}

function malformed(cause?: unknown): CallError {
  return new CallError(400, 'The body is no multipart form', { cause })
}
