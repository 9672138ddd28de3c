import { z } from 'zod'
import {
  type AttributeField,
  fieldsOf,
  prettyJson,
  type ReadAttributes,
  readFields,
} from '../products/attribute-form.ts'
import type { ProductFields } from '../products/product-form.ts'
import type { Product } from '../products/product-view.ts'
import { FormBody } from './browser-session.ts'

/** A field that comes once or several times. */
const Texts = z.union([z.string().transform((text) => [text]), z.array(z.string())]).prefault([])

/** The fields of the form of a product: attributes as names and values, or as JSON. */
export const ProductBody = FormBody.extend({
  sku: z.string(),
  as: z.enum(['form', 'json']).prefault('form'),
  name: Texts,
  value: Texts,
  attributes: z.string().prefault(''),
})
type ProductBody = z.output<typeof ProductBody>

/** The attributes of a form as JSON. */
export function readAttributes(body: ProductBody): ReadAttributes {
  return body.as === 'json' ? { kind: 'read', json: body.attributes } : readFields(pairsOf(body))
}

/** Returns the fields of a sent form as the form shows them: names and values, or attributes as the JSON text that was typed. */
export function sentFields(body: ProductBody): ProductFields {
  const { sku, as, attributes } = body
  return as === 'json' ? { sku, fields: undefined, json: attributes } : { sku, fields: pairsOf(body), json: '' }
}

/**
 * Returns the fields of a product as its form shows them. Attributes that are no object have no names and values, and are JSON
 * text.
 */
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
