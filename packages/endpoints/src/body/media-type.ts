/** The parts of `text/html; charset=utf-8`. Type and parameter names are in lower case. */
export interface MediaType {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

/** Parses `Content-Type` or one range of `Accept`. Returns `undefined` for any other text. */
export function parseMediaType(text: string): MediaType | undefined {
  const [type = '', ...rest] = text.split(';')
  const essence = type.trim().toLowerCase()
  if (!/^[\w.+*!#$&^-]+\/[\w.+*!#$&^-]+$/.test(essence)) return undefined
  const parameters = new Map<string, string>()
  for (const parameter of rest) {
    const equals = parameter.indexOf('=')
    if (equals === -1) continue
    const value = parameter.slice(equals + 1).trim()
    parameters.set(parameter.slice(0, equals).trim().toLowerCase(), value.replace(/^"(.*)"$/, '$1'))
  }
  return { type: essence, parameters }
}

/** Whether the charset of a media type is UTF-8 or its subset US-ASCII. A media type without a charset counts as UTF-8. */
export function isUtf8({ parameters }: Pick<MediaType, 'parameters'>): boolean {
  return /^(?:utf-?8|us-ascii)$/i.test(parameters.get('charset') ?? 'utf-8')
}

/** Returns whether a media type is JSON or ends in `+json` (RFC 6839, section 3.1), with any parameters. */
export function isJsonType(type: string): boolean {
  const [essence = ''] = type.split(';', 1)
  return /^application\/json$|\+json$/i.test(essence.trim())
}

const byExtension: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  css: 'text/css',
  csv: 'text/csv',
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html',
  html: 'text/html',
  ico: 'image/x-icon',
  ics: 'text/calendar',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  md: 'text/markdown',
  mjs: 'text/javascript',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  ndjson: 'application/x-ndjson',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  wasm: 'application/wasm',
  webm: 'video/webm',
  webmanifest: 'application/manifest+json',
  webp: 'image/webp',
  woff2: 'font/woff2',
  xml: 'application/xml',
  yaml: 'application/yaml',
  zip: 'application/zip',
}

/** Returns the media type of a file by the extension of its name, or `undefined` for an unknown extension. */
export function typeOfFileName(name: string): string | undefined {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined
}

/** Adds the charset to a textual media type that has none. */
export function withCharset(type: string): string {
  const textual = /^text\/|^application\/(?:json|javascript|xml|yaml|x-ndjson)\b|\+(?:json|xml)\b/i
  return textual.test(type) && !/;\s*charset=/i.test(type) ? `${type}; charset=utf-8` : type
}
