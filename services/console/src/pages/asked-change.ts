import type { Html } from '@trestle/common/documents/html.ts'
import { mayDo, type OperatorAction, type OperatorRole } from '@trestle/service/operators/operator-roles.ts'
import { z } from 'zod'
import type { Change } from '../service-calls/operator-calls.ts'
import type { ServiceName } from '../service-calls/service-call.ts'
import { changeForm, type FormProof } from './form.ts'
import type { ConsolePage } from './layout.ts'
import { askLink, questionOf } from './parts.ts'

/** What the form of a question holds, or the link that leads to it. */
export const GivenFields = z.record(z.string().max(64), z.string().max(4_096))
export type GivenFields = z.infer<typeof GivenFields>

/** Who looks at a page, and when. */
export interface Viewer {
  readonly role: OperatorRole
  readonly userId: string
  readonly now: Date
}

/** What a service is asked, or why what was typed cannot be sent. */
export type AskedCall = Pick<Change, 'method' | 'path' | 'body' | 'ifMatch'> | { readonly problem: string }

/** A change that an operator makes on a page, after a question that names what will happen. */
export interface AskedChange<Shown> {
  /** The last part of the address of its question. */
  readonly name: string
  readonly action: OperatorAction
  /** What its button says. */
  readonly label: string
  /** What stands above the question, where the label is not enough. */
  readonly title?: (shown: Shown, given: GivenFields) => string
  /** Whether the change cannot be undone, or keeps somebody out. */
  readonly isDangerous?: boolean
  /** Whether the page of the object has a button for it. Undefined: always. */
  readonly isOffered?: (shown: Shown, viewer: Viewer) => boolean
  /** What will happen, a sentence each. */
  readonly consequences: (shown: Shown, given: GivenFields) => readonly string[]
  readonly fields?: (shown: Shown, given: GivenFields) => Html
  readonly call: (shown: Shown, given: GivenFields) => AskedCall
  /** A sentence without its full stop that says what was done. */
  readonly done: string | ((shown: Shown, given: GivenFields) => string)
  /** Where the operator is led afterwards, where that is not the page of the object. */
  readonly leadsTo?: (shown: Shown, given: GivenFields) => string
}

/** The changes of one kind of object. */
export interface Changeable<Shown> {
  readonly service: ServiceName
  /** The part of the navigation that the questions belong to. */
  readonly section: string
  /** The address of an object: its questions lie below. */
  readonly pathOf: (shown: Shown) => string
  /** The page that shows the object, where that is not its own address. */
  readonly shownAt?: (shown: Shown) => string
  readonly changes: readonly AskedChange<Shown>[]
}

/** The buttons of a page: the changes that its object allows now, and the role of the operator permits. */
export function changeLinks<Shown>(changeable: Changeable<Shown>, shown: Shown, viewer: Viewer): readonly Html[] {
  return changeable.changes
    .filter(({ action, isOffered }) => mayDo(viewer.role, action) && (isOffered?.(shown, viewer) ?? true))
    .map(({ name, label, isDangerous }) =>
      askLink(`${changeable.pathOf(shown)}/${name}`, `${label}…`, isDangerous === true ? 'danger' : 'plain'),
    )
}

/** A question, with what its form holds already. */
export interface OpenQuestion<Shown> {
  readonly change: AskedChange<Shown>
  readonly shown: Shown
  readonly given: GivenFields
  readonly proof: FormProof
  /** Why what was sent before was not done. */
  readonly problem?: string | undefined
}

/** The page of the question before a change. */
export function questionPage<Shown>(
  changeable: Changeable<Shown>,
  { change, shown, given, proof, problem }: OpenQuestion<Shown>,
): ConsolePage {
  const { name, label, isDangerous, consequences, fields } = change
  const title = change.title?.(shown, given) ?? label
  const path = changeable.pathOf(shown)
  return {
    title,
    section: changeable.section,
    main: questionOf({
      title,
      problem,
      consequences: consequences(shown, given),
      form: changeForm({
        action: `${path}/${name}`,
        proof,
        submit: label,
        isDangerous: isDangerous === true,
        cancel: changeable.shownAt?.(shown) ?? path,
        fields: fields?.(shown, given),
      }),
    }),
  }
}
