import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { Changeable } from '../pages/asked-change.ts'
import {
  changeForm,
  checkField,
  choiceField,
  type Field,
  type FormProof,
  hiddenField,
  type Problem,
  problemAlert,
  textField,
} from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { askLink, card, count, factList, pageHead, tabs } from '../pages/parts.ts'
import { type MovementType, movePath, type Product, productPath } from '../products/product-view.ts'
import { type Location, locationPath, MOVEMENT_TYPES, MOVEMENTS, type Reservation } from './stock-view.ts'

/** The hidden fields of a form, and the reason for its rejection. */
interface Asked {
  readonly proof: FormProof
  readonly problem?: Problem | undefined
}

/** The product and the location of a movement, chosen before its quantity. */
export interface MovePlace {
  readonly type: MovementType
  readonly product: Pick<Product, 'id' | 'sku'>
  readonly location: Location
  /** The stock at the time when the form was opened. */
  readonly level: { readonly onHand: number; readonly reserved: number; readonly available: number }
  readonly locations: readonly Location[]
}

interface SentMovement {
  readonly quantity: string
  readonly reason: string
  readonly reference: string
  /** The id of the receiving location of a transfer. */
  readonly to: string | undefined
  /** The on-hand quantity that a count expects. If it is `undefined`, the current one. */
  readonly expectedOnHand: number | undefined
}

const TEXT_LENGTH = 255

function typeTabs(role: OperatorRole, type: MovementType, known: Parameters<typeof movePath>[1]): Html {
  const may = MOVEMENT_TYPES.filter((each) => mayDo(role, `stock.${each}`))
  return tabs(
    'Movement',
    may.map((each) => [movePath(each, known), MOVEMENTS[each]] as const),
    movePath(type, known),
  )
}

export function choosePlacePage(
  {
    type,
    sku,
    locations,
    location,
  }: {
    readonly type: MovementType
    readonly sku: string
    readonly locations: readonly Location[]
    readonly location: string | undefined
  },
  { role, problem }: { readonly role: OperatorRole; readonly problem?: Problem | undefined },
): ConsolePage {
  return {
    title: `${MOVEMENTS[type]} stock`,
    section: 'stock',
    main: html`${pageHead({ title: 'Move stock', above: { label: 'Stock', path: '/stock' } })}
${typeTabs(role, type, {})}
${card(
  'Product and location',
  html`<div class="card-body"><form method="get" action="/movements/new" class="form">${hiddenField('type', type)}
${problemAlert(problem)}<div class="form-grid">${textField({ name: 'sku', label: 'SKU', value: sku, isRequired: true, isFocused: true, maxLength: TEXT_LENGTH, problem })}
${choiceField({ name: 'location', label: type === 'transfer' ? 'From' : 'Location', value: location, options: locations.map(({ id, code, name }) => [String(id), `${code} – ${name}`]) })}</div>
<div class="form-actions"><button class="button primary" type="submit">Continue</button><a class="button" href="/stock" data-close>Cancel</a></div></form></div>`,
)}`,
  }
}

/** The form fields for members of `movementOf` with another name. */
const FIELDS: Readonly<Record<string, string>> = { delta: 'quantity', toLocationId: 'to' }

/** The form of a movement, with the current stock. @param problem its field is a member of `movementOf` */
export function movePage(
  place: MovePlace,
  { role, proof, problem: refusal, sent }: Asked & { readonly role: OperatorRole; readonly sent?: SentMovement },
): ConsolePage {
  const { type, product, location, level, locations } = place
  const { field: member = '' } = refusal ?? {}
  const problem = refusal && { ...refusal, field: FIELDS[member] ?? member }
  const known = { productId: product.id, locationId: location.id }
  const others = locations.filter(({ id }) => id !== location.id)
  return {
    title: `${MOVEMENTS[type]} ${product.sku}`,
    section: 'stock',
    main: html`${pageHead({ title: `${MOVEMENTS[type]} ${product.sku}`, above: { label: 'Stock', path: '/stock' }, facts: [html`<a href="${movePath(type)}">Another product or location</a>`] })}
${typeTabs(role, type, known)}
<div class="grid split">${card(
      `${MOVEMENTS[type]} at ${location.code}`,
      html`<div class="card-body">${changeForm({
        action: '/movements',
        proof,
        problem,
        submit: MOVEMENTS[type],
        cancel: productPath(product.id),
        fields: html`${hiddenField('type', type)}${hiddenField('product', product.id)}${hiddenField('location', location.id)}${hiddenField('expectedOnHand', sent?.expectedOnHand ?? level.onHand)}
<div class="form-grid">${quantityField(type, { value: sent?.quantity, problem })}
${type === 'transfer' ? choiceField({ name: 'to', label: 'To', value: sent?.to, isRequired: true, problem, options: others.map(({ id, code, name }) => [String(id), `${code} – ${name}`]) }) : undefined}</div>
${textField({ name: 'reason', label: type === 'adjust' ? 'Reason' : 'Reason (optional)', value: sent?.reason, isRequired: type === 'adjust', maxLength: TEXT_LENGTH, problem })}
${textField({ name: 'reference', label: 'Reference (optional)', value: sent?.reference, hint: 'A document to find the movement by.', maxLength: TEXT_LENGTH, problem })}`,
      })}</div>`,
    )}${card(
      'Stock now',
      html`<div class="card-body">${factList([
        ['Location', `${location.code} – ${location.name}`],
        ['On hand', count(level.onHand)],
        ['Reserved', count(level.reserved)],
        ['Available', count(level.available)],
      ])}</div>`,
    )}</div>`,
  }
}

/** A movement from a form. Ids are those of inventory. */
export interface TypedMovement {
  readonly type: MovementType
  readonly product: number
  readonly location: number
  readonly to: number | undefined
  readonly quantity: string
  /** The on-hand quantity that the form showed. */
  readonly expectedOnHand: number
  readonly reason: string
  readonly reference: string
}

/** Returns the movement in the form of inventory (inventory reference: Movements). Omits empty texts. */
export function movementOf(typed: TypedMovement): Readonly<Record<string, unknown>> {
  const { type, product: productId, location: locationId, to, expectedOnHand, reason, reference } = typed
  const common = { type, productId, ...(reason && { reason }), ...(reference && { reference }) }
  const quantity = readQuantity(typed.quantity)
  if (type === 'transfer') return { ...common, fromLocationId: locationId, toLocationId: to, quantity }
  if (type === 'adjust') return { ...common, locationId, delta: quantity }
  if (type === 'count') return { ...common, locationId, quantity, expectedOnHand }
  return { ...common, locationId, quantity }
}

/**
 * Reads the quantity of a form. Keeps a text that is not an integer, because inventory describes the problem. Keeps a long
 * integer as text too, because a number would lose its last digits.
 */
function readQuantity(text: string): number | string | undefined {
  if (text === '') return undefined
  return /^[-+]?\d{1,15}$/.test(text) ? Number(text) : text
}

function quantityField(type: MovementType, sent: Pick<Field, 'value' | 'problem'>): Html {
  const common = {
    name: 'quantity',
    ...sent,
    type: 'number',
    isRequired: true,
    isFocused: true,
    inputMode: 'numeric',
  } as const
  if (type === 'adjust') {
    return textField({
      ...common,
      type: 'text',
      inputMode: 'text',
      pattern: '[-+]?[0-9]+',
      label: 'Difference',
      hint: 'Such as -2 or 5.',
    })
  }
  const hint =
    type === 'count' ? 'The counted quantity. Refused if stock has moved since this page was opened.' : undefined
  return textField({ ...common, label: type === 'count' ? 'Counted' : 'Quantity', hint })
}

type LocationFields = Pick<Location, 'code' | 'name' | 'active'>

/** @param known the location, its version and the initial name in the form, or `undefined` for a new location */
export function locationPage(
  fields: LocationFields,
  { proof, problem }: Asked,
  known?: { readonly id: number; readonly etag: string; readonly shown: string },
): ConsolePage {
  const title = known === undefined ? 'New location' : `Change ${fields.code}`
  return {
    title,
    section: 'stock',
    main: html`${pageHead({
      title,
      above: { label: 'Locations', path: '/locations' },
      actions: known === undefined ? [] : [askLink(`${locationPath(known.id)}/deletion`, 'Delete…', 'danger')],
    })}
${card(
  'Location',
  html`<div class="card-body">${changeForm({
    action: known === undefined ? '/locations/new' : locationPath(known.id),
    proof,
    problem,
    submit: known === undefined ? 'Create' : 'Save',
    cancel: '/locations',
    fields: html`${known && [hiddenField('etag', known.etag), hiddenField('shown', known.shown)]}
${textField({ name: 'code', label: 'Code', value: fields.code, isRequired: true, maxLength: 64, hint: 'Letters, digits, dots, dashes and underscores.', problem })}
${textField({ name: 'name', label: 'Name', value: fields.name, isRequired: true, maxLength: TEXT_LENGTH, problem })}
${checkField({ name: 'active', label: 'Active', hint: 'An inactive location takes no stock in.', isChecked: fields.active })}`,
  })}</div>`,
)}`,
  }
}

export const reservationChanges: Changeable<Reservation> = {
  service: 'inventory',
  section: 'stock',
  pathOf: ({ id }) => `/reservations/${id}`,
  shownAt: () => '/reservations',
  changes: [
    {
      name: 'release',
      action: 'reservations.release',
      label: 'Release',
      title: ({ id }) => `Release reservation ${id}`,
      isDangerous: true,
      isOffered: ({ status }) => status === 'active',
      consequences: ({ remaining, reference }) => [
        `${count(remaining)} that ${reference === null ? 'it keeps' : `${reference} keeps`} can be sold to others at once.`,
        'The client that has made the reservation can no longer commit it.',
        'This cannot be undone.',
      ],
      call: ({ id }) => ({ method: 'DELETE', path: `/reservations/${id}` }),
      done: 'The reservation is released',
    },
  ],
}

export interface VersionedLocation {
  readonly location: Location
  readonly etag: string
}

export const locationChanges: Changeable<VersionedLocation> = {
  service: 'inventory',
  section: 'stock',
  pathOf: ({ location }) => locationPath(location.id),
  changes: [
    {
      name: 'deletion',
      action: 'locations.change',
      label: 'Delete',
      title: ({ location }) => `Delete ${location.code}`,
      isDangerous: true,
      consequences: () => [
        'The location leaves all lists, and its code becomes free.',
        'A location with stock is not deleted.',
        'This cannot be undone.',
      ],
      fields: ({ etag }) => hiddenField('etag', etag),
      call: ({ location }, { etag }) => ({ method: 'DELETE', path: locationPath(location.id), ifMatch: etag }),
      done: ({ location }) => `${location.code} is deleted`,
      leadsTo: () => '/locations',
    },
  ],
}
