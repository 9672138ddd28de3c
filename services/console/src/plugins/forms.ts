import { finished, type Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { requestMalformed } from '../errors.ts'
import {
  type AttributeField,
  fieldsOf,
  type ProductFields,
  prettyJson,
  type ReadAttributes,
  readFields,
} from '../products/product-form.ts'
import type { Product } from '../products/product-view.ts'
import { FormBody } from './browser-session.ts'

/** A field that may appear several times. */
const Texts = z.union([z.string().transform((text) => [text]), z.array(z.string())]).prefault([])

/** The form of a product: attributes as names and values, or as JSON. */
export const ProductBody = FormBody.extend({
  sku: z.string(),
  as: z.enum(['form', 'json']).prefault('form'),
  name: Texts,
  value: Texts,
  attributes: z.string().prefault(''),
})
type ProductBody = z.output<typeof ProductBody>

export function readAttributes(body: ProductBody): ReadAttributes {
  return body.as === 'json' ? { kind: 'read', json: body.attributes } : readFields(pairsOf(body))
}

/** Returns the sent fields for showing the form again: names and values, or the typed JSON. */
export function sentFields(body: ProductBody): ProductFields {
  const { sku, as, attributes } = body
  return as === 'json' ? { sku, fields: undefined, json: attributes } : { sku, fields: pairsOf(body), json: '' }
}

/** Returns the fields of a product for its form. Attributes that are not an object become JSON text. */
export function shownFields(
  { sku, attributes }: Pick<Product, 'sku' | 'attributes'>,
  as: 'form' | 'json',
): ProductFields {
  return { sku, fields: as === 'json' ? undefined : fieldsOf(attributes), json: prettyJson(attributes) }
}

function pairsOf({ name: names, value: values }: ProductBody): readonly AttributeField[] {
  return names
    .map((name, at) => ({ name, text: values[at] ?? '' }))
    .filter(({ name, text }) => name !== '' || text !== '')
}

/** Browsers omit an unchecked checkbox. */
export const LocationBody = FormBody.extend({
  code: z.string().trim(),
  name: z.string(),
  active: z
    .literal('yes')
    .optional()
    .transform((value) => value === 'yes'),
})

/** A file in a form. It is read while it arrives. */
interface FormFile {
  /** The file name on the operator's machine. Empty if no file was chosen. */
  readonly name: string
  readonly bytes: Readable
  /** Aborted with an error if the form is malformed or incomplete. */
  readonly broken: AbortSignal
}

const LIMITS = { fields: 10, fieldSize: 1_024, files: 1, parts: 11 } as const

/**
 * Reads a form up to the beginning of its file, which follows all fields. The caller reads the file.
 * @throws requestMalformed if the form is malformed or incomplete
 */
export function readFileForm({ headers }: FastifyRequest, payload: Readable): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const fields = new Map<string, unknown>()
  const broken = new AbortController()
  let file: Readable | undefined
  const breakOff = (cause: unknown) => {
    const error = requestMalformed({ cause })
    broken.abort(error)
    // The reader of the file must get the error too.
    file?.destroy(error)
    reject(error)
  }
  try {
    const form = new Busboy({ headers: { ...headers, 'content-type': headers['content-type'] ?? '' }, limits: LIMITS })
    form.on('field', (name, value, _isNameCut, isValueCut) => {
      // The library truncates long values and omits excess fields.
      if (isValueCut) breakOff(new Error('a field is too long'))
      // The library replaces bytes that are not UTF-8 by U+FFFD.
      if (value.includes('\uFFFD')) breakOff(new Error('a field is not UTF-8'))
      fields.set(name, value)
    })
    form.on('file', (_field, bytes, name: string | undefined) => {
      // If the form is rejected, nobody reads its file. Without a listener, an error of the file would end the process.
      bytes.on('error', () => {})
      file = bytes
      resolve({
        ...Object.fromEntries(fields),
        file: { name: name ?? '', bytes, broken: broken.signal } satisfies FormFile,
      })
    })
    form.on('finish', () => resolve(Object.fromEntries(fields)))
    for (const limit of ['fieldsLimit', 'filesLimit', 'partsLimit'] as const) {
      form.on(limit, () => breakOff(new Error('the form has too many parts')))
    }
    form.on('error', breakOff)
    finished(payload, (error) => {
      if (error) breakOff(error)
    })
    // `pipeline` would close the connection of a malformed form before the response.
    payload.pipe(form)
  } catch (error) {
    breakOff(error)
  }
  return promise
}

/** How much of a form is read after its response, and for how many milliseconds. */
interface RestBounds {
  readonly bytes: number
  readonly ms: number
}

/** More than a browser has in transit when the response arrives. */
const REST_MAX: RestBounds = { bytes: 64 * 1_024 * 1_024, ms: 30_000 }

/**
 * Reads and discards the rest of a form that was answered early, because a browser shows a response only after it has sent the
 * whole form. Closes the connection if the client sends more than the bounds allow, so that clients cannot occupy connections.
 */
export function readRest(raw: Readable, { bytes, ms }: RestBounds = REST_MAX): void {
  raw.unpipe()
  if (raw.readableEnded || raw.destroyed) return
  let rest = 0
  const timer = setTimeout(() => raw.destroy(), ms).unref()
  raw.once('close', () => clearTimeout(timer))
  raw.on('data', (piece: Buffer) => {
    rest += piece.length
    if (rest > bytes) raw.destroy()
  })
  raw.resume()
}
