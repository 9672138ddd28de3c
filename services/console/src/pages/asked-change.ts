import { type Html, html } from '@trestle/common/documents/html.ts'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { mayDo, OPERATOR_ROLES, type OperatorAction, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import { nothingChanged } from '../errors.ts'
import type { Change } from '../service-calls/operator-calls.ts'
import type { ServiceName } from '../service-calls/service-call.ts'
import { changeForm, type FormProof, hiddenField, type Problem } from './form.ts'
import type { ConsolePage } from './layout.ts'
import { type AskTone, askLink, questionOf } from './parts.ts'

/** The fields of a question's form, or of the link to the question. */
export const GivenFields = z.record(z.string().max(64), z.string().max(4_096))
export type GivenFields = z.infer<typeof GivenFields>

/** The operator who views a page, and the time. */
export interface Viewer {
  readonly role: OperatorRole
  readonly userId: string
  readonly now: Date
}

/** A call to a service, or the reason why the typed values cannot be sent. */
export type AskedCall =
  | Pick<Change, 'method' | 'path' | 'query' | 'body' | 'ifMatch'>
  | { readonly problem: HttpError; readonly field?: string }

/** Refuses a form without changes. */
export function unchangedForm(): AskedCall {
  return { problem: nothingChanged() }
}

/** A change that an operator makes on a page, after a question that states its effects. */
export interface AskedChange<Shown> extends ReliesOnFacts<Shown> {
  /** The last part of the question's address. */
  readonly name: string
  readonly action: OperatorAction
  /** The text of the button that opens the question. */
  readonly label: string
  /** The text of the question's button, if the label is too short. */
  readonly submit?: string
  /** The heading of the question, if the label is not enough. */
  readonly title?: (shown: Shown, given: GivenFields) => string
  /** Whether the change cannot be undone or locks a user out. */
  readonly isDangerous?: boolean
  /** Whether this change is the main reason to open its page. */
  readonly isMain?: boolean
  /** Whether the top of the page has a button for the change. If `undefined`, always. */
  readonly isOffered?: (shown: Shown, viewer: Viewer) => boolean
  /** The effects of the change, one sentence each. */
  readonly consequences: (shown: Shown, given: GivenFields) => readonly string[]
  readonly fields?: (shown: Shown, given: GivenFields, problem?: Problem) => Html
  /** The part of the object that the link to the question may name. Links cannot fill in other fields. */
  readonly part?: ChangedPart<Shown>
  readonly call: (shown: Shown, given: GivenFields) => AskedCall
  /** The answer of the service to the change. If `undefined`, as in `Change`. */
  readonly answer?: z.ZodType
  /** A sentence about the outcome, without a full stop. */
  readonly done: string | ((shown: Shown, given: GivenFields, answer: unknown) => string)
  /** The page that follows, if it is not the page of the object. */
  readonly leadsTo?: (shown: Shown, given: GivenFields, answer: unknown) => string
  /**
   * Returns a page that shows the answer once, instead of a redirect. It is for secrets, which are not stored, and for answers
   * that are too long for a notice. `undefined` for a redirect.
   */
  readonly shows?: (shown: Shown, answer: unknown) => Html | undefined
}

/** A part of an object, such as one of its sessions. A field of the question contains its id. */
interface ChangedPart<Shown> {
  readonly field: string
  /** Whether the object has the part, so that a question cannot name a part of another object. */
  readonly isOf: (shown: Shown, id: string) => boolean
  /**
   * Whether the change ends the part, so that a repeated request no longer finds it. The path of the call also names the object,
   * so the service refuses parts of other objects.
   */
  readonly isEnded?: boolean
}

/** Returns the fields that a link to a question fills in: the part. Returns `undefined` if the object lacks it. */
export function linkedFields<Shown>(
  { part }: Pick<AskedChange<Shown>, 'part'>,
  shown: Shown,
  query: GivenFields,
): GivenFields | undefined {
  if (part === undefined) return {}
  const { [part.field]: id = '' } = query
  return part.isOf(shown, id) ? { [part.field]: id } : undefined
}

export interface Changeable<Shown> {
  readonly service: ServiceName
  /** The section of the navigation for these questions. */
  readonly section: string
  /** Returns the address of an object. Its questions are below this address. */
  readonly pathOf: (shown: Shown) => string
  /** Returns the page of the object, if it is not the address. */
  readonly shownAt?: (shown: Shown) => string
  /** Whether the operator may change the object. If `undefined`, only the role decides. */
  readonly isOpenTo?: (shown: Shown, viewer: Viewer) => boolean
  readonly changes: readonly AskedChange<Shown>[]
}

/** Returns the buttons of the changes that the object's state and the operator's role permit. */
export function changeLinks<Shown>(changeable: Changeable<Shown>, shown: Shown, viewer: Viewer): readonly Html[] {
  return (
    permittedChanges(changeable, shown, viewer)
      .filter(({ isOffered }) => isOffered?.(shown, viewer) ?? true)
      // Put changes that cannot be undone last, away from the frequent buttons.
      .toSorted((one, other) => Number(one.isDangerous === true) - Number(other.isDangerous === true))
      .map((change) => askLink(`${changeable.pathOf(shown)}/${change.name}`, `${change.label}…`, toneOf(change)))
  )
}

/** Returns the roles that may do an action, such as `support and admin`. */
export function rolesThatMay(action: OperatorAction): string {
  return OPERATOR_ROLES.filter((role) => mayDo(role, action)).join(' and ')
}

/**
 * Says that a role may not do an action, and which roles may. Returns `undefined` if the role may.
 * @param what the action in words, such as `count stock`
 */
export function actionNote(role: OperatorRole, action: OperatorAction, what: string): string | undefined {
  return mayDo(role, action) ? undefined : `Your role ${role} may not ${what}; ${rolesThatMay(action)} may.`
}

/**
 * Says which buttons of the page other roles have, and which roles. Otherwise an operator could not see whether the object or the
 * role forbids a change. Returns `undefined` if the role may make all changes that the object allows now.
 */
export function roleNote<Shown>(
  { changes, isOpenTo }: Changeable<Shown>,
  shown: Shown,
  viewer: Viewer,
): string | undefined {
  if (isOpenTo?.(shown, viewer) === false) return undefined
  const denied = changes.filter(
    ({ action, isOffered }) => !mayDo(viewer.role, action) && (isOffered?.(shown, viewer) ?? true),
  )
  const byOthers = [...Map.groupBy(denied, ({ action }) => rolesThatMay(action))]
  const sentences = byOthers.map(
    ([others, each]) =>
      `Your role ${viewer.role} may not use ${each.map(({ label }) => `“${label}”`).join(', ')}; ${others} may.`,
  )
  return sentences.length === 0 ? undefined : sentences.join(' ')
}

/** A change of a part of an object, such as one of its sessions. The fields contain the part. */
interface PartChange<Shown> {
  readonly name: string
  readonly shown: Shown
  readonly given: GivenFields
}

/** Returns the button next to a part of an object, or `undefined` if the role may not use it. */
export function partChangeLink<Shown>(
  changeable: Changeable<Shown>,
  { name, shown, given }: PartChange<Shown>,
  viewer: Viewer,
): Html | undefined {
  const change = permittedChanges(changeable, shown, viewer).find((each) => each.name === name)
  if (change === undefined) return undefined
  const path = `${changeable.pathOf(shown)}/${name}?${new URLSearchParams(given)}`
  return askLink(path, `${change.label}…`, toneOf(change))
}

/** Returns a hidden field that copies a value of the link, such as the id of a second factor, into the form of the question. */
export function carriedField(name: string): (shown: unknown, given: GivenFields) => Html {
  return (_shown, given) => hiddenField(name, given[name] ?? '')
}

function permittedChanges<Shown>(
  { changes, isOpenTo }: Changeable<Shown>,
  shown: Shown,
  viewer: Viewer,
): readonly AskedChange<Shown>[] {
  const isOpen = isOpenTo?.(shown, viewer) ?? true
  return changes.filter(({ action }) => isOpen && mayDo(viewer.role, action))
}

function toneOf<Shown>({ isDangerous, isMain }: AskedChange<Shown>): AskTone {
  if (isDangerous === true) return 'danger'
  return isMain === true ? 'main' : 'plain'
}

/** A question, and the values in its form. */
interface OpenQuestion<Shown> {
  readonly change: AskedChange<Shown>
  readonly shown: Shown
  readonly given: GivenFields
  readonly proof: FormProof
  /** Why the previous form was refused. */
  readonly problem?: Problem | undefined
}

/** Returns the page that shows the answer of a change once. */
export function shownOncePage<Shown>(
  changeable: Changeable<Shown>,
  { title, path, main }: { readonly title: string; readonly path: string; readonly main: Html },
): ConsolePage {
  return {
    title,
    section: changeable.section,
    main: html`<div class="question"><h1>${title}</h1>${main}<div class="form-actions"><a class="button" href="${path}">Done</a></div></div>`,
  }
}

export function questionPage<Shown>(
  changeable: Changeable<Shown>,
  { change, shown, given, proof, problem }: OpenQuestion<Shown>,
): ConsolePage {
  const { name, label, submit = label, isDangerous, consequences, fields } = change
  const title = change.title?.(shown, given) ?? label
  const path = changeable.pathOf(shown)
  return {
    title,
    section: changeable.section,
    main: questionOf({
      title,
      consequences: consequences(shown, given),
      form: changeForm({
        action: `${path}/${name}`,
        proof,
        problem,
        submit,
        isDangerous: isDangerous === true,
        cancel: changeable.shownAt?.(shown) ?? path,
        fields: html`${factFields(change, shown)}${fields?.(shown, given, problem)}`,
      }),
    }),
  }
}

/** A change whose question shows facts that it depends on, such as the currency of an amount. */
interface ReliesOnFacts<Shown> {
  /**
   * Returns the facts of the object, which the form contains. Another operator may change them before the form is sent. The
   * question is then shown again. `undefined` if the change depends on no facts.
   */
  readonly reliesOn?: (shown: Shown) => Readonly<Record<string, string>>
}

const factName = (name: string) => `fact_${name}`

/** Returns hidden fields with the facts of a question. */
function factFields<Shown>({ reliesOn }: ReliesOnFacts<Shown>, shown: Shown): readonly Html[] {
  return Object.entries(reliesOn?.(shown) ?? {}).map(([name, fact]) => hiddenField(factName(name), fact))
}

/** Whether the facts in a form are missing or differ from the present ones. */
export function isStale<Shown>(
  { reliesOn }: ReliesOnFacts<Shown>,
  shown: Shown,
  given: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(reliesOn?.(shown) ?? {}).some(([name, fact]) => given[factName(name)] !== fact)
}
