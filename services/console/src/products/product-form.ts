import { type Html, html } from '@trestle/common/documents/html.ts'
import { FORM_TEXTS } from '../errors.ts'
import {
  changeForm,
  FORM_BYTES_MAX,
  type FormProof,
  hiddenField,
  longTextField,
  type Problem,
  textField,
} from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { card, indentedJson, pageHead, tabs } from '../pages/parts.ts'
import { parseJson } from '../service-calls/service-call.ts'
import { type Product, productPath } from './product-view.ts'

type EditedAs = 'form' | 'json'

export interface ProductFields {
  readonly sku: string
  /** `undefined` if the attributes are edited as JSON. */
  readonly fields: readonly AttributeField[] | undefined
  readonly json: string
}

/** A product form with the typed values and the problem. */
interface ProductForm extends ProductFields {
  readonly proof: FormProof
  readonly problem?: Problem | undefined
}

const SPARE_FIELDS = 3
const SKU_LENGTH = 255

export function newProductPage(form: ProductForm): ConsolePage {
  const title = 'New product'
  return {
    title,
    section: 'products',
    main: html`${pageHead({ title, above: { label: 'Products', path: '/products' } })}
${formCard(form, { action: '/products/new', submit: 'Create', cancel: '/products' })}`,
  }
}

/** @param version the version of the product when the form was opened */
export function editProductPage(
  { id, sku }: Pick<Product, 'id' | 'sku'>,
  version: number,
  { mayUseForm, ...form }: ProductForm & { readonly mayUseForm: boolean },
): ConsolePage {
  const title = `Edit ${sku}`
  const action = `${productPath(id)}/edit`
  return {
    title,
    section: 'products',
    main: html`${pageHead({ title, above: { label: sku, path: productPath(id) } })}
${formCard(form, { action, submit: 'Save', cancel: productPath(id), version, hasForm: mayUseForm })}`,
  }
}

interface FormPlace {
  readonly action: string
  readonly submit: string
  readonly cancel: string
  readonly version?: number
  /** Whether the attributes can also be edited as fields. */
  readonly hasForm?: boolean
}

function formCard(
  { proof, problem, sku, fields, json }: ProductForm,
  { action, submit, cancel, version, hasForm = true }: FormPlace,
): Html {
  const edited: EditedAs = fields === undefined ? 'json' : 'form'
  const ways = [
    [action, 'Fields'],
    [`${action}?as=json`, 'JSON'],
  ] as const
  const current = edited === 'json' ? `${action}?as=json` : action
  return html`${hasForm ? tabs('How attributes are edited', ways, current) : undefined}
${card(
  'Product',
  html`<div class="card-body">${changeForm({
    action,
    proof,
    problem,
    submit,
    cancel,
    fields: html`${version === undefined ? undefined : hiddenField('version', version)}${hiddenField('as', edited)}
${textField({ name: 'sku', label: 'SKU', value: sku, isRequired: true, maxLength: SKU_LENGTH, problem })}
${fields === undefined ? jsonField(json, problem) : attributeFields(fields)}`,
  })}</div>`,
)}`
}

function jsonField(json: string, problem: Problem | undefined): Html {
  return longTextField({
    name: 'attributes',
    label: 'Attributes',
    value: json,
    hint: 'JSON. Numbers keep every digit.',
    isRequired: true,
    problem,
  })
}

/** Rows with a name and a value, and some empty rows. */
function attributeFields(fields: readonly AttributeField[]): Html {
  const spare = Array.from({ length: SPARE_FIELDS }, () => ({ name: '', text: '' }))
  const rows = [...fields, ...spare].map(
    ({ name, text }, at) =>
      html`<li class="pair"><input name="name" value="${name}" aria-label="Name ${at + 1}" placeholder="name" autocomplete="off" spellcheck="false"><input name="value" value="${text}" aria-label="Value of ${name === '' ? `attribute ${at + 1}` : name}" placeholder="value" autocomplete="off"></li>`,
  )
  return html`<fieldset class="field"><legend>Attributes</legend><ul class="pairs">${rows}</ul>
<p class="hint">A value that is JSON is kept as it is: <code>42</code>, <code>true</code>, <code>["a","b"]</code>. Anything else is text; <code>"42"</code> is the text 42. Without a value an attribute is removed.</p></fieldset>`
}

/** The name of an attribute, and its value in the form that an operator types. */
export interface AttributeField {
  readonly name: string
  readonly text: string
}

/** The JSON of the attributes in a form, or the reason why there is none. */
export type ReadAttributes =
  | { readonly kind: 'read'; readonly json: string }
  | { readonly kind: 'refused'; readonly problem: string }

/** The bytes for attributes in a form, next to its SKU and hidden fields. */
const ATTRIBUTES_BYTES_MAX = FORM_BYTES_MAX - 8_192

/**
 * Returns the fields of attributes, or `undefined` if the attributes are not an object or do not fit into a form. Then only their
 * JSON can be edited. The fields have the syntax of import cells: JSON text is that value, and any other text is a string
 * (inventory reference: CSV files).
 */
export function fieldsOf(attributes: unknown): readonly AttributeField[] | undefined {
  if (!isObject(attributes)) return undefined
  // A single-line field loses line breaks, and hides other control characters of a name.
  if (Object.keys(attributes).some((name) => name === '' || /\p{Cc}/u.test(name))) return undefined
  const fields = Object.entries(attributes).map(([name, value]) => ({ name, text: fieldText(value) }))
  const sent = fields.flatMap(({ name, text }): SentField[] => [
    ['name', name],
    ['value', text],
  ])
  return isWithinForm(sent) ? fields : undefined
}

/** Returns the text itself if it would be read as the same text, otherwise its JSON. */
export function fieldText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  const isPlain = value.trim() !== '' && !/\p{Cc}/u.test(value) && !isJson(value)
  return isPlain ? value : JSON.stringify(value)
}

/** Reads the fields of a form. A field without a value is ignored. */
export function readFields(fields: readonly AttributeField[]): ReadAttributes {
  const given = fields.filter(({ text }) => text.trim() !== '')
  if (given.some(({ name }) => name === '')) return { kind: 'refused', problem: FORM_TEXTS.nameless }
  const names = new Set<string>()
  for (const { name } of given) {
    if (names.has(name)) return { kind: 'refused', problem: FORM_TEXTS.twice(name) }
    names.add(name)
  }
  const members = given.map(({ name, text }) => `${JSON.stringify(name)}:${isJson(text) ? text : JSON.stringify(text)}`)
  return { kind: 'read', json: `{${members.join(',')}}` }
}

/**
 * Formats the JSON of attributes for a field. Numbers keep their digits. Indents the JSON, unless it would become too large for
 * the form.
 */
export function prettyJson(attributes: unknown): string {
  const indented = indentedJson(attributes)
  // Browsers send each line break of a field as two characters.
  const isShort = indented && isWithinForm([['attributes', indented.replaceAll('\n', '\r\n')]])
  return isShort ? indented : JSON.stringify(attributes)
}

/** The name and the text of a field in a request. */
type SentField = [name: string, text: string]

/** Whether the fields fit into a form. */
function isWithinForm(fields: SentField[]): boolean {
  return new URLSearchParams(fields).toString().length <= ATTRIBUTES_BYTES_MAX
}

function isJson(text: string): boolean {
  try {
    parseJson(text)
    return true
  } catch {
    return false
  }
}

/** Whether a value is a JSON object, not an array or a raw number. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}
