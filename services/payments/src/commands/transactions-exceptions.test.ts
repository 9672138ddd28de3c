import { anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { AUDIT_FULL, lastAudit, operatorAudit, withoutAudit } from '../../test/audit.ts'
import { settle } from '../../test/live-merchant.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { callAddException } from '../acquirers/exception-repository.ts'
import { exceptionsCommand } from './transactions.ts'

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

it('payments exceptions: shows the money that payouts hold back, and says that resolving frees and does not book it', async () => {
  const { db } = payments.database
  const { id: merchantId } = await createTestMerchant(payments, await createTestApp(payments), { currency: 'EUR' })
  await settle(db, merchantId, { acquirer: 'north' })
  const payload = { type: 'dispute.opened', acquirer: 'north' }
  const disputes = { some: { amount: 4_000 }, all: { amount: 1, currency: 'XXX' } }
  for (const [reference, disputed] of Object.entries(disputes))
    await callAddException(db, { merchantId, reference, payload, disputed })
  const listed = await readJson(
    z.array(z.looseObject({ id: z.string(), merchantId: z.string() })),
    'exceptions',
    'list',
  )
  const own = listed.filter((row) => row.merchantId === merchantId)
  expect(own).toEqual(
    [{ currency: 'EUR', amount: 4_000 }, { currency: 'EUR' }].map((heldBack) => {
      return { id: expect.stringMatching(/^[0-9a-f]{24}$/), merchantId, created: anyTime, heldBack, payload }
    }),
  )
  const answers = []
  for (const { id } of own) answers.push(await json('exceptions', 'resolve', merchantId, id))
  expect(answers).toEqual(own.map(({ id, heldBack }) => ({ id, resolved: true, freed: heldBack, booked: false })))
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
