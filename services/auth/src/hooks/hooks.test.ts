import { HttpError } from '@trestle/common/errors/define-error.ts'
import { describe, expect, it } from 'vitest'
import { HOOK_NAMES, type HookName } from '../config/hooks.ts'
import { readHookAnswer } from './hooks.ts'

const STRICT = { hookRefusalCode: 'hook_rejected', ignoreUnknownHookAnswers: false } as const
const LENIENT = { hookRefusalCode: 'unknown', ignoreUnknownHookAnswers: true } as const

/** The members of each hook's consenting answer. `undefined` for a hook with an empty answer. */
const CONSENT: Readonly<Record<HookName, object | undefined>> = {
  CUSTOM_ACCESS_TOKEN: { claims: { sub: 'u1' } },
  PASSWORD_VERIFICATION_ATTEMPT: { decision: 'continue' },
  MFA_VERIFICATION_ATTEMPT: { decision: 'continue' },
  SEND_EMAIL: undefined,
  SEND_SMS: undefined,
  BEFORE_USER_CREATED: undefined,
  AFTER_USER_CREATED: undefined,
}
const SPEAKING = HOOK_NAMES.filter((name) => CONSENT[name])
const SILENT = HOOK_NAMES.filter((name) => !CONSENT[name])

/** Returns the members of the answer, or the status, code and message of the error. */
function read(name: HookName, answer: unknown, compatibility: typeof STRICT | typeof LENIENT, status = 200): unknown {
  const body = answer === '' ? '' : JSON.stringify(answer)
  try {
    return readHookAnswer(name, { status, body, contentType: 'application/json' }, compatibility)
  } catch (error) {
    return error instanceof HttpError ? [error.status, error.code, error.message] : error
  }
}
const FAILED = [500, 'unexpected_failure', 'Error running hook']
const everyHook = (answers: readonly unknown[]) =>
  HOOK_NAMES.flatMap((name) => answers.map((answer) => [name, JSON.stringify(answer), answer] as const))

/** Errors that look like refusals but have the wrong form. */
const MALFORMED: readonly unknown[] = [
  'blocked',
  '',
  true,
  false,
  0,
  403,
  [],
  [{ http_code: 403, message: 'no' }],
  {},
  { http_code: 403 },
  { http_code: '403', message: 'no' },
  { http_code: 403.5, message: 'no' },
  { http_code: 403, message: null },
  { http_code: 403, message: ['no'] },
  { code: 403, msg: 'no' },
]

describe('readHookAnswer', () => {
  it.each(everyHook(MALFORMED))('fails %s for the error %s', (name, _, error) => {
    for (const status of [200, 201, 202]) {
      expect(read(name, { ...CONSENT[name], error }, STRICT, status)).toEqual(FAILED)
    }
  })

  it.each(everyHook(MALFORMED))('ignores, where the profile does, of %s the error %s', (name, _, error) => {
    const answer = { ...CONSENT[name], error }
    expect(read(name, answer, LENIENT)).toEqual(answer)
  })

  it.each(HOOK_NAMES)('refuses by %s with each client error, whatever else the hook answers', (name) => {
    for (const http_code of [400, 499]) {
      const answer = { ...CONSENT[name], error: { http_code, message: 'no', more: true }, ok: true }
      expect(read(name, answer, STRICT)).toEqual([http_code, 'hook_rejected', 'no'])
      expect(read(name, answer, LENIENT)).toEqual([http_code, 'unknown', 'no'])
    }
  })

  const FAILURES = [{ message: 'no' }, { http_code: 200, message: 'no' }, { http_code: 500, message: 'no' }]
  it.each(everyHook(FAILURES))('fails %s in each profile for the error %s', (name, _, error) => {
    for (const compatibility of [STRICT, LENIENT]) {
      expect(read(name, { ...CONSENT[name], error }, compatibility)).toEqual(FAILED)
    }
  })

  it('refuses with an empty message, unless the profile ignores such an error', () => {
    const answer = { error: { http_code: 403, message: '' } }
    expect(read('BEFORE_USER_CREATED', answer, STRICT)).toEqual([403, 'hook_rejected', ''])
    expect(read('BEFORE_USER_CREATED', answer, LENIENT)).toEqual(answer)
  })

  it('fails for a status that is null, which counts as none where the profile is lenient', () => {
    const answer = { error: { http_code: null, message: 'no' } }
    for (const compatibility of [STRICT, LENIENT]) {
      expect(read('BEFORE_USER_CREATED', answer, compatibility)).toEqual(FAILED)
    }
  })

  const MEMBERS = [{ ok: true }, { decision: 'reject', message: 'no' }, { Error: 'no' }, { errors: [] }, { '': null }]
  it.each(SILENT)('fails %s, which has to answer nothing, for any member', (name) => {
    for (const answer of MEMBERS) {
      expect(read(name, answer, STRICT)).toEqual(FAILED)
      expect(read(name, answer, LENIENT)).toEqual(answer)
    }
  })

  it.each(SPEAKING)('takes further members of %s', (name) => {
    const answer = { ...CONSENT[name], ok: true }
    expect(read(name, answer, STRICT)).toEqual(answer)
  })

  it.each(HOOK_NAMES)('takes consent of %s with the error null', (name) => {
    const answer = { ...CONSENT[name], error: null }
    expect(read(name, answer, STRICT)).toEqual(answer)
    expect(read(name, answer, LENIENT)).toEqual(answer)
  })

  it.each(HOOK_NAMES)('reads an empty answer of %s, and null where the profile is lenient', (name) => {
    for (const empty of ['', {}]) expect(read(name, empty, STRICT)).toEqual({})
    expect(read(name, null, LENIENT)).toEqual({})
    expect(read(name, null, STRICT)).toEqual(FAILED)
  })
})
