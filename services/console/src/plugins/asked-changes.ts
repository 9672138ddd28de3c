import { HttpError } from '@trestle/common/errors/define-error.ts'
import { mayDo } from '@trestle/service/operators/operator-roles.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { errorVocabulary } from '../error-body.ts'
import { answerLost } from '../errors.ts'
import {
  type AskedChange,
  type Changeable,
  GivenFields,
  linkedFields,
  questionPage,
  shownOncePage,
} from '../pages/asked-change.ts'
import { type Change, type OperatorCalls, requireRole } from '../service-calls/operator-calls.ts'
import { refuseMissing } from '../service-calls/service-call.ts'
import { FormBody } from './browser-session.ts'
import { answerDone, visitOf } from './operator.ts'
import { sendPage } from './pages.ts'

/** A change that the address names, and what it would change. */
export interface NamedChange<Shown> {
  readonly name: string
  readonly shown: Shown
}

/**
 * Asks before a change.
 * @throws what `requireChange` and `requireRole` throw, and objectNotFound for a part that the object does not have
 */
export function askChange<Shown>(
  request: FastifyRequest,
  reply: FastifyReply,
  changeable: Changeable<Shown>,
  { name, shown }: NamedChange<Shown>,
): FastifyReply {
  const { role, form } = visitOf(request)
  const change = requireChange(changeable, name)
  requireRole(mayDo(role, change.action) ? role : undefined)
  const given = requirePart(linkedFields(change, shown, GivenFields.parse(request.query)))
  return sendPage(request, reply, questionPage(changeable, { change, shown, given, proof: form }))
}

/**
 * Makes the change that an operator has confirmed. What the service refuses stands above the question, with what was typed.
 * @throws what `requireChange` and `tryChange` throw, and objectNotFound for a part that the object does not have
 */
export async function answerChange<Shown>(
  request: FastifyRequest,
  reply: FastifyReply,
  changeable: Changeable<Shown>,
  { name, shown }: NamedChange<Shown>,
): Promise<FastifyReply> {
  const change = requireChange(changeable, name)
  const { _key: key, _csrf: csrf } = FormBody.parse(request.body)
  const given = GivenFields.parse(request.body)
  if (change.part?.isEnded !== true) requirePart(linkedFields(change, shown, given))
  const outcome = await makeChange(request, changeable, { change, shown, given, key })
  if (outcome.kind === 'done') {
    const path = change.leadsTo?.(shown, given) ?? (changeable.shownAt ?? changeable.pathOf)(shown)
    if (change.shows !== undefined) {
      const main = change.shows(shown, outcome.body)
      const title = change.title?.(shown, given) ?? change.label
      return sendPage(request, reply, shownOncePage(changeable, { title, path, main }))
    }
    const toast = typeof change.done === 'string' ? change.done : change.done(shown, given, outcome.body)
    return answerDone(request, reply, { path, toast })
  }
  const isUnknown = outcome.kind === 'unknown'
  const proof = isUnknown ? { csrf, key } : visitOf(request).form
  const page = questionPage(changeable, { change, shown, given, proof, problem: outcome.message })
  return sendPage(request, reply, page, isUnknown ? 503 : 422)
}

/** What became of a change, also where the service has not answered. */
type Made =
  | { readonly kind: 'done'; readonly body: unknown }
  | { readonly kind: 'refused' | 'unknown'; readonly status: number; readonly message: string }

/**
 * Makes a change whose answer may be lost. It is then `unknown` whether the change was made: only a repeat with the same key is sure
 * to make it once.
 * @throws what `OperatorCalls.change` throws, but for serviceAway
 */
export async function tryChange(calls: Pick<OperatorCalls, 'change'>, change: Change): Promise<Made> {
  try {
    return await calls.change(change)
  } catch (error) {
    if (!(error instanceof HttpError) || error.code !== 'service_away') throw error
    return { kind: 'unknown', ...wordsOf(answerLost()) }
  }
}

async function makeChange<Shown>(
  request: FastifyRequest,
  { service }: Changeable<Shown>,
  asked: {
    readonly change: AskedChange<Shown>
    readonly shown: Shown
    readonly given: GivenFields
    readonly key: string
  },
): Promise<Made> {
  const call = asked.change.call(asked.shown, asked.given)
  if ('problem' in call) return { kind: 'refused', ...wordsOf(call.problem) }
  return tryChange(visitOf(request).calls, { service, ...call, key: asked.key })
}

function wordsOf({ status, message }: HttpError) {
  return { status, message: `${message}.` }
}

/** The change with this name. @throws what `errorVocabulary.notFound` makes */
function requireChange<Shown>({ changes }: Changeable<Shown>, name: string): AskedChange<Shown> {
  const found = changes.find((change) => change.name === name)
  if (found === undefined) throw errorVocabulary.notFound()
  return found
}

/** What a link fills in. @throws what `refuseMissing` throws where the object has no such part */
function requirePart(linked: GivenFields | undefined): GivenFields {
  return linked ?? refuseMissing()
}

/** The row of a list with an id, for objects that have no address of their own. @throws what `refuseMissing` throws */
export function findById<Row extends { readonly id: string }>(rows: readonly Row[], id: string): Row {
  return rows.find((row) => row.id === id) ?? refuseMissing()
}
