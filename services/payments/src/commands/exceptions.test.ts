import { anyTime } from '@trestle/testing/any-value.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { AUDIT_FULL, lastAudit, operatorAudit, withoutAudit } from '../../test/audit.ts'
import { operatorDeps, startPayments, type TestPayments, UNKNOWN_ID } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { callAddException } from '../acquirers/exception-repository.ts'
import { exceptionsCommand } from './exceptions.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const { run, json, readJson } = commandRunner([exceptionsCommand], () => operatorDeps(payments))

it('payments exceptions: lists what waits, oldest first, and closes each once', async () => {
  const { db } = payments.database
  const merchantId = UNKNOWN_ID
  for (const reference of ['first', 'second']) {
    await callAddException(db, { merchantId, reference, payload: { type: 'operation', reference } })
  }
  const listed = await readJson(z.array(z.looseObject({ id: z.string() })), 'exceptions', 'list')
  expect(listed).toEqual(
    ['first', 'second'].map((reference) => ({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      merchantId,
      created: anyTime,
      payload: { type: 'operation', reference },
    })),
  )
  const [first] = listed.map(({ id }) => id)
  expect(await run('exceptions', 'resolve', merchantId, first ?? '')).toEqual([`id        ${first}`, 'resolved  true'])
  expect(await lastAudit(payments)).toEqual(operatorAudit('exception.resolved', { exceptionId: first }, merchantId))
  expect(await json('exceptions', 'list')).toEqual(listed.slice(1))
  await expect(run('exceptions', 'resolve', merchantId, first ?? '')).rejects.toThrow(`no exception ${first} waits`)
})

it('payments exceptions resolve: closes an exception with its entry in the audit log, or not at all', async () => {
  const merchantId = UNKNOWN_ID
  await callAddException(payments.database.db, { merchantId, reference: 'unseen', payload: { type: 'operation' } })
  const listed = await readJson(z.array(z.looseObject({ id: z.string() })), 'exceptions', 'list')
  const { id = '' } = listed.at(-1) ?? {}
  await withoutAudit(payments, () => expect(run('exceptions', 'resolve', merchantId, id)).rejects.toThrow(AUDIT_FULL))
  expect(await json('exceptions', 'list')).toEqual(listed)
  await run('exceptions', 'resolve', merchantId, id)
  expect(await lastAudit(payments)).toEqual(operatorAudit('exception.resolved', { exceptionId: id }, merchantId))
})
