import { createNoopMeter } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { lastAudit, operatorAudit } from '../../test/audit.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { createPanVault } from '../vault/pan-vault.ts'
import { createWebhookSecrets } from '../webhooks/webhook-secret.ts'
import { vaultCommand } from './vault.ts'

// A rotation encrypts every row of the database, so each test has its own.
let payments: TestPayments
let app: TestApp
beforeEach(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
afterEach(() => payments.close())

const Turn = z.object({ rotated: z.number(), webhooks: z.number() })
/** Adds up one count over several answers of `vault rotate`. */
const sumOf = (name: 'rotated' | 'webhooks', turns: readonly unknown[]): number =>
  turns.reduce<number>((sum, turn) => sum + Turn.parse(turn)[name], 0)

describe('payments vault', () => {
  const [old, fresh] = [
    { id: 1, key: Buffer.alloc(32, 1) },
    { id: 2, key: Buffer.alloc(32, 2) },
  ]
  const pepper = Buffer.alloc(32, 9)
  type Keys = [typeof old, ...(typeof old)[]]
  const vaultOf = (...keys: Keys) => createPanVault(keys, createNoopMeter())
  const secretsOf = (...vaultKeys: Keys) => createWebhookSecrets({ vaultKeys, pepper })
  const withVault = (...keys: Keys) =>
    commandRunner([vaultCommand], () => ({
      ...operatorDeps(payments),
      vault: vaultOf(...keys),
      webhookSecrets: secretsOf(...keys),
    }))

  // ASVS 11.2.2
  it('rotate: encrypts each number with the first key, once, so that the old key is not needed', async () => {
    const { id } = await createTestMerchant(payments, app, { test: true })
    const source = await customerPayment(payments, id, { number: '1000000000000000' })
    const all = await payments.database.db.selectFrom('instruments').select('id').execute()
    const both = withVault(fresh, old)
    await expect(withVault(fresh).run('vault', 'rotate')).rejects.toHaveProperty(
      'message',
      'encrypted with key 1, which is not configured',
    )
    const turns = await Promise.all([both.json('vault', 'rotate'), both.json('vault', 'rotate')])
    expect(sumOf('rotated', turns)).toBe(all.length)
    const nothing = { rotated: 0, webhooks: 0, keyId: 2 }
    expect(await both.json('vault', 'rotate')).toEqual(nothing)
    expect(await lastAudit(payments)).toEqual(operatorAudit('vault.rotated', nothing))
    expect(await both.json('vault', 'keys')).toEqual([{ keyId: 2, count: all.length, webhooks: 0 }])
    const row = await payments.database.db
      .selectFrom('transactions')
      .innerJoin('instruments', (join) =>
        join
          .onRef('instruments.merchant_id', '=', 'transactions.merchant_id')
          .onRef('instruments.id', '=', 'transactions.instrument_id'),
      )
      .select(['instruments.id', 'pan_sealed', 'pan_mac'])
      .where('transactions.id', '=', source)
      .executeTakeFirstOrThrow()
    const vault = vaultOf(fresh)
    const place = { merchantId: id, instrumentId: row.id }
    expect(vault.decrypt(row.pan_sealed, place, 'authorization')).toBe('1000000000000000')
    expect(vault.macs('1000000000000000')).toEqual([row.pan_mac])
  })

  it('rotate: encrypts secrets of webhooks too, also those that the pepper encrypted', async () => {
    const { id } = await createTestMerchant(payments, app, { test: true })
    const { db } = payments.database
    const url = `/merchants/${id}/webhooks`
    const request = { method: 'POST', headers: app.headers } as const
    const created = await payments.app.inject({ ...request, url, payload: { url: 'https://shop.example/hooks' } })
    const { webhook } = created.json()
    await payments.app.inject({ ...request, url: `${url}/${webhook.id}/secrets` })
    const rowOf = () => db.selectFrom('webhooks').selectAll().where('id', '=', webhook.id).executeTakeFirstOrThrow()
    // An earlier release encrypted webhook secrets with the pepper, under the key id 0.
    const peppered = secretsOf({ id: 0, key: pepper }).encrypt('of the pepper', id)
    await db.updateTable('webhooks').set({ secret_sealed: peppered }).where('id', '=', webhook.id).execute()

    // A vault key may have the id 0 too, but is a different key.
    const [zero, both] = [{ id: 0, key: Buffer.alloc(32, 3) }, [fresh, old] as const]
    expect(secretsOf(zero, old).decrypt(peppered, id)).toBe('of the pepper')
    expect(secretsOf(zero, old).isCurrent(peppered, id)).toBe(false)
    expect(await withVault(...both).json('vault', 'keys')).toEqual([
      { keyId: 0, count: 0, webhooks: 1 },
      { keyId: 1, count: 0, webhooks: 1 },
    ])
    const turns = [withVault(...both).json('vault', 'rotate'), withVault(...both).json('vault', 'rotate')]
    expect(sumOf('webhooks', await Promise.all(turns))).toBe(1)
    const { secret_sealed, previous_sealed } = await rowOf()
    expect(secretsOf(fresh).decrypt(secret_sealed, id)).toBe('of the pepper')
    expect(secretsOf(fresh).decrypt(previous_sealed ?? Buffer.of(), id)).toBe(webhook.secret)
    expect(await withVault(fresh).json('vault', 'rotate')).toEqual({ webhooks: 0, rotated: 0, keyId: 2 })
  })
})
