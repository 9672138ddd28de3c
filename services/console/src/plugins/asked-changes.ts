import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { formStale, pageNotFound } from '../errors.ts'
import {
  type AskedChange,
  type Changeable,
  GivenFields,
  isStale,
  linkedFields,
  questionPage,
  shownOncePage,
} from '../pages/asked-change.ts'
import type { FormProof, Problem } from '../pages/form.ts'
import type { Outcome } from '../service-calls/operator-calls.ts'
import { refuseMissing } from '../service-calls/service-call.ts'
import { FormBody } from './browser-session.ts'
import { answerDone, isLedToForm, leadAround, requireAction, visitOf } from './operator.ts'
import { sendPage } from './pages.ts'

/** A change that the address names, and its object. */
interface NamedChange<Shown> {
  readonly name: string
  readonly shown: Shown
  readonly given: GivenFields
}

/** The object of changes, and how an address names it. */
interface ChangeRoutesOptions<Params, Shown> {
  readonly params: z.ZodType<Params>
  readonly changeable: Changeable<Shown>
  readonly read: (request: FastifyRequest, params: Params, given: GivenFields) => Shown | Promise<Shown>
}

const ChangeName = z.object({ change: z.string().max(32) })

/**
 * Adds the routes of changes: GET asks before a change, and POST makes it.
 * @param path its last part is `:change`, or the name of a change
 */
export function addChangeRoutes<Params, Shown>(
  app: FastifyInstance,
  path: string,
  { params, changeable, read }: ChangeRoutesOptions<Params, Shown>,
): void {
  const lastPart = path.slice(path.lastIndexOf('/') + 1)
  const isFixed = lastPart !== ':change'
  const schema = { params: isFixed ? params : params.and(ChangeName) }
  const named = async (request: FastifyRequest, given: GivenFields): Promise<NamedChange<Shown>> => {
    const name = isFixed ? lastPart : ChangeName.parse(request.params).change
    // The schema of the route has validated them. Reading them again gives them their type.
    return { name, shown: await read(request, params.parse(request.params), given), given }
  }
  app.get<{ Querystring: GivenFields }>(
    path,
    { schema: { ...schema, querystring: GivenFields } },
    async (request, reply) => askChange(request, reply, changeable, await named(request, request.query)),
  )
  app.post<{ Body: GivenFields }>(path, { schema: { ...schema, body: GivenFields } }, async (request, reply) =>
    answerChange(request, reply, changeable, await named(request, request.body)),
  )
}

/**
 * Asks before a change. If another site or a sign-in has led the browser here, it is redirected to the object: the form of
 * the question may be filled in, and a key or a click that was meant for the previous page would send it. Anyone can write
 * the address to which a sign-in leads.
 * @throws notSignedIn, actionForbidden, pageNotFound for an unknown change, and objectNotFound for a part that the object
 * does not have
 */
async function askChange<Shown>(
  request: FastifyRequest,
  reply: FastifyReply,
  changeable: Changeable<Shown>,
  { name, shown, given }: NamedChange<Shown>,
): Promise<FastifyReply> {
  const change = requireChange(changeable, name)
  const { form } = requireAction(request, change.action)
  if (isLedToForm(request)) return leadAround(request, reply, (changeable.shownAt ?? changeable.pathOf)(shown))
  const linked = requirePart(linkedFields(change, shown, given))
  return sendPage(request, reply, questionPage(changeable, { change, shown, given: linked, proof: form }))
}

/**
 * Makes the change that an operator has confirmed. If the service refuses it, the reason stands above the fields with the
 * typed values.
 * @throws notSignedIn, actionForbidden, pageNotFound for an unknown change, and objectNotFound for a part that the object
 * does not have
 */
async function answerChange<Shown>(
  request: FastifyRequest,
  reply: FastifyReply,
  changeable: Changeable<Shown>,
  { name, shown, given }: NamedChange<Shown>,
): Promise<FastifyReply> {
  const change = requireChange(changeable, name)
  requireAction(request, change.action)
  const { _key: key } = FormBody.parse(given)
  const linked = linkedFields(change, shown, given)
  if (change.part?.isEnded !== true) requirePart(linked)
  if (isStale(change, shown, given)) {
    // The fields show the current object: the typed values were meant for its former state.
    const { status, ...asked } = askedAgain(request, { kind: 'refused', message: `${formStale().message}.` })
    return sendPage(request, reply, questionPage(changeable, { change, shown, given: linked ?? {}, ...asked }), status)
  }
  const outcome = await sendChange(request, changeable, { change, shown, given, key })
  if (outcome.kind === 'done') {
    const path = change.leadsTo?.(shown, given, outcome.body) ?? (changeable.shownAt ?? changeable.pathOf)(shown)
    const main = change.shows?.(shown, outcome.body)
    if (main !== undefined) {
      const title = change.title?.(shown, given) ?? change.label
      return sendPage(request, reply, shownOncePage(changeable, { title, path, main }))
    }
    const toast = typeof change.done === 'string' ? change.done : change.done(shown, given, outcome.body)
    return answerDone(request, reply, { path, toast })
  }
  const { status, ...asked } = askedAgain(request, outcome)
  return sendPage(request, reply, questionPage(changeable, { change, shown, given, ...asked }), status)
}

/** A form that is shown again, and why. */
export interface AskedAgain {
  readonly proof: FormProof
  readonly problem: Problem
  readonly status: 422 | 503
}

/**
 * The values for a form that is shown again, because its change was refused or the answer was lost. It keeps its key: an
 * earlier attempt may be done already, or may still run, and services store no key of a change that they refuse.
 */
export function askedAgain(request: FastifyRequest, outcome: Exclude<Outcome, { kind: 'done' }>): AskedAgain {
  const { _key: key, _csrf: csrf } = FormBody.parse(request.body)
  return { proof: { csrf, key }, problem: outcome, status: outcome.kind === 'refused' ? 422 : 503 }
}

async function sendChange<Shown>(
  request: FastifyRequest,
  { service }: Changeable<Shown>,
  asked: {
    readonly change: AskedChange<Shown>
    readonly shown: Shown
    readonly given: GivenFields
    readonly key: string
  },
): Promise<Outcome> {
  const call = asked.change.call(asked.shown, asked.given)
  if ('problem' in call) return { kind: 'refused', message: `${call.problem.message}.`, field: call.field }
  return visitOf(request).calls.change({ service, ...call, answer: asked.change.answer, key: asked.key })
}

/** @throws pageNotFound */
function requireChange<Shown>({ changes }: Changeable<Shown>, name: string): AskedChange<Shown> {
  const found = changes.find((change) => change.name === name)
  if (found === undefined) throw pageNotFound()
  return found
}

/** The fields that a link fills in. @throws objectNotFound if the object has no such part */
function requirePart(linked: GivenFields | undefined): GivenFields {
  return linked ?? refuseMissing()
}

/** Finds an object without an address of its own in a list. @throws objectNotFound */
export function findById<Row extends { readonly id: string }>(rows: readonly Row[], id: string): Row {
  return rows.find((row) => row.id === id) ?? refuseMissing()
}
