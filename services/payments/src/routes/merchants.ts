import { z } from 'zod'
import { mapInput, requireObject } from '../access/require-access.ts'
import { errorAnswers } from '../error-body.ts'
import { normaliseIban } from '../merchants/iban.ts'
import { type MerchantChanges, MerchantView, viewMerchant } from '../merchants/merchant.ts'
import { readMerchant } from '../merchants/merchant-repository.ts'
import { answerCreated } from '../plugins/answers.ts'
import type { Routes } from '../plugins/read-request.ts'
import { descriptor, email, isStorable, name, pathId } from '../requests/fields.ts'
import { MerchantBody, toNewMerchant } from '../requests/merchant-body.ts'
import { createMerchant } from '../use-cases/create-merchant.ts'
import { updateMerchant } from '../use-cases/update-merchant.ts'

/** A field that requests may repeat without effect. The API document marks it as `readOnly`. */
const anything = () => z.unknown().optional().meta({ readOnly: true })

/** The immutable fields of a merchant. A client may send them back if the values are unchanged. */
const FixedMembers = z.object({
  id: anything(),
  key: anything(),
  currency: anything(),
  test: z.boolean().or(z.unknown()).optional().meta({ readOnly: true }),
  website: anything(),
  company: z.object({ country: anything(), number: anything() }).or(z.unknown()).optional().meta({ readOnly: true }),
  bank: z.object({ iban: anything(), holder: anything() }).or(z.unknown()).optional().meta({ readOnly: true }),
  created: anything(),
})

const MerchantChangesBody = FixedMembers.extend({
  name: name().nullable().optional(),
  email: email().optional(),
  descriptor: descriptor().optional(),
})

const MerchantParams = z.object({ merchantId: pathId() })
const MerchantAnswer = z.object({ merchant: MerchantView })

/** Creates, reads and changes one merchant (reference: Merchants). */
export const merchantsRoutes: Routes = async (app) => {
  app.post(
    '/merchants',
    {
      schema: {
        operationId: 'createMerchant',
        tags: ['Merchants'],
        summary: 'Create a merchant',
        body: MerchantBody,
        response: { 201: MerchantAnswer, ...errorAnswers(400, 401, 403, 409, 413, 415) },
      },
    },
    async (request, reply) => {
      const { caller, body } = request
      const input = mapInput(body, toNewMerchant)
      const { merchant, replayed } = await createMerchant(app.deps, { caller, input })
      request.logFields = { merchant_id: merchant.id }
      answerCreated(reply, { replayed })
      return { merchant: viewMerchant(merchant) }
    },
  )
  app.get(
    '/merchants/:merchantId',
    {
      schema: {
        operationId: 'getMerchant',
        tags: ['Merchants'],
        summary: 'Get a merchant',
        params: MerchantParams,
        response: { 200: MerchantAnswer, ...errorAnswers(401, 403, 404) },
      },
    },
    async ({ caller, input, params: { merchantId } }) => {
      const result = await readMerchant(app.deps.pools, { ...caller, merchantId })
      return { merchant: viewMerchant(requireObject(caller, result, { input, name: 'merchant' })) }
    },
  )
  app.put(
    '/merchants/:merchantId',
    {
      schema: {
        operationId: 'updateMerchant',
        tags: ['Merchants'],
        summary: 'Change name, email address or descriptor of a merchant',
        params: MerchantParams,
        body: MerchantChangesBody,
        bodyRequired: false,
        response: { 204: z.undefined().describe('Changed'), ...errorAnswers(400, 401, 403, 404, 409, 413, 415) },
      },
    },
    async ({ caller, params: { merchantId }, body: input }, reply) => {
      const fixed = readFixedMembers(input.verdict === 'valid' ? input.values : input.problem.values)
      await updateMerchant(app.deps, { caller, merchantId, input: mapInput(input, toChanges), fixed })
      return reply.code(204).send()
    },
  )
}

function toChanges({ name, email, descriptor }: z.output<typeof MerchantChangesBody>): MerchantChanges {
  return { name, email, descriptor }
}

/** Replaces values that cannot be stored. It differs from every stored value. */
const UNLIKE_ANY = 0
/** The fields that are trimmed when a merchant is created. */
const TRIMMED: ReadonlySet<string> = new Set(['currency', 'website', 'company.country', 'bank.holder'])

/**
 * Reads the immutable fields of a body in the form in which they are stored, by path: `{ 'company.country': 'DK' }`. Omits absent
 * fields.
 */
function readFixedMembers(body: unknown): Readonly<Record<string, string | boolean | number>> {
  const { company, bank, ...members } = FixedMembers.safeParse(body).data ?? {}
  const values = {
    ...members,
    ...readNested('company', company, ['country', 'number']),
    ...readNested('bank', bank, ['iban', 'holder']),
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([path, value]) => (value === undefined ? [] : [[path, toStored(path, value)]])),
  )
}

function readNested(member: string, value: unknown, keys: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [member]: value }
  return Object.fromEntries(keys.map((key) => [`${member}.${key}`, Reflect.get(value, key)]))
}

function toStored(path: string, value: unknown): string | boolean | number {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string' || !isStorable(value)) return UNLIKE_ANY
  if (path === 'bank.iban') return normaliseIban(value)
  return TRIMMED.has(path) ? value.trim() : value
}
