import { z } from 'zod'
import { isJsonText, type JsonText } from '../json/json-object.ts'
import { findSkuFault, SKU_LENGTH_MAX } from './sku.ts'

const Sku = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
  .meta({ minLength: 1, maxLength: SKU_LENGTH_MAX })
  .superRefine((sku, context) => {
    const fault = findSkuFault(sku)
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault })
  })

const Attributes = z
  .custom<string | JsonText>((value) => typeof value === 'string' || isJsonText(value), {
    error: ({ input }) => (input === undefined ? 'is required' : 'must be a text that is JSON, an object or an array'),
  })
  .meta({
    type: ['string', 'object', 'array'],
    description: 'JSON: as a text that holds it, or as an object or array. Numbers keep every digit.',
  })

/** A product as it is created or replaced. */
export const ProductBody = z
  .object({ sku: Sku, attributes: Attributes })
  .meta({ examples: [{ sku: 'TSHIRT-RED-M', attributes: '{"color":"red","price":19.90}' }] })

/** What of a product changes. An object of attributes is a merge patch (RFC 7396). */
export const ProductPatch = z
  .object({ sku: Sku.optional(), attributes: Attributes.optional() })
  .refine(({ sku, attributes }) => sku !== undefined || attributes !== undefined, 'must have sku or attributes')
  .meta({ examples: [{ attributes: { color: 'blue', discontinued: null } }] })
