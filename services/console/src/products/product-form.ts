import { type Html, html } from '@trestle/common/documents/html.ts'
import { changeForm, type FormProof, hiddenField, longTextField, type Problem, textField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { card, pageHead, tabs } from '../pages/parts.ts'
import type { AttributeField } from './attribute-form.ts'
import { type Product, productPath } from './product-view.ts'

/** How attributes are edited: a field for each, or their JSON. */
export type EditedAs = 'form' | 'json'

/** The texts in the fields of a form. */
export interface ProductFields {
  readonly sku: string
  /** Undefined: the attributes are edited as JSON. */
  readonly fields: readonly AttributeField[] | undefined
  readonly json: string
}

/** A form for a product, with what was typed and what is wrong with it. */
export interface ProductForm extends ProductFields {
  readonly proof: FormProof
  readonly problem?: Problem | undefined
}

const SPARE_FIELDS = 3
const SKU_LENGTH = 255

/** The form for a new product. */
export function newProductPage(form: ProductForm): ConsolePage {
  const title = 'New product'
  return {
    title,
    section: 'products',
    main: html`${pageHead({ title, above: { label: 'Products', path: '/products' } })}
${formCard(form, { action: '/products/new', submit: 'Create', cancel: '/products' })}`,
  }
}

/** The form that changes a product. @param version the version that the form was opened for */
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
  /** Whether the attributes can be edited as fields too. */
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

/** A name and a value a row, and some rows for more. */
function attributeFields(fields: readonly AttributeField[]): Html {
  const spare = Array.from({ length: SPARE_FIELDS }, () => ({ name: '', text: '' }))
  const rows = [...fields, ...spare].map(
    ({ name, text }, at) =>
      html`<li class="pair"><input name="name" value="${name}" aria-label="Name ${at + 1}" placeholder="name" autocomplete="off" spellcheck="false"><input name="value" value="${text}" aria-label="Value of ${name === '' ? `attribute ${at + 1}` : name}" placeholder="value" autocomplete="off"></li>`,
  )
  return html`<fieldset class="field"><legend>Attributes</legend><ul class="pairs">${rows}</ul>
<p class="hint">A value that is JSON is kept as it is: <code>42</code>, <code>true</code>, <code>["a","b"]</code>. Anything else is text; <code>"42"</code> is the text 42. Without a value an attribute is removed.</p></fieldset>`
}
