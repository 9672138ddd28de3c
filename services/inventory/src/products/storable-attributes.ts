import { invalid } from '../error-vocabulary.ts'
import type { JsonText } from '../json/json-object.ts'
import { checkAttributes } from './attributes.ts'

/**
 * The text of attributes that can be stored.
 * @param attributes JSON as text (the specified form), or an object or array
 * @throws validationError for others
 */
export function storableAttributes(attributes: string | JsonText, bytesMax: number): string {
  const checked = checkAttributes(typeof attributes === 'string' ? attributes : attributes.jsonText, bytesMax)
  if (checked.verdict === 'refused') throw invalid([{ path: 'attributes', message: checked.reason }])
  return checked.text
}
