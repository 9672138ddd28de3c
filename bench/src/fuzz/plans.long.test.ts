import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemory } from './memory.ts'
import { parseApiDocument } from './openapi.ts'
import { type PartsTogether, type PlanSources, plans } from './plans.ts'
import { toWire } from './wire.ts'

const text = { type: 'string', minLength: 1, maxLength: 8 }
const document = parseApiDocument({
  paths: {
    '/things/{thingId}': {
      put: {
        parameters: [
          { name: 'thingId', in: 'path', required: true, schema: text },
          { name: 'page', in: 'query', required: false, schema: { type: 'integer', minimum: 1 } },
        ],
        requestBody: {
          content: {
            'application/json': {
              schema: { type: 'object', properties: { name: text, count: { type: 'integer' } }, required: ['name'] },
            },
          },
        },
        responses: { '200': {} },
      },
    },
  },
  components: {},
})
const sources: PlanSources = {
  ...{ document, bodies: {}, headers: { 'x-odd': fc.constant('1') }, actors: 2, credentialOf: () => 'own' },
  lexicon: { name: fc.constantFrom('Ada', 'Bob') },
}
const memory = createMemory({ actors: 2, pools: new Set() })
const send = (seed: number, changes: Partial<PlanSources> = {}) => {
  const wires: string[] = []
  for (const plan of plans({ ...sources, ...changes }, seed)) {
    wires.push(JSON.stringify(toWire(plan, { memory, authorize: () => ({}) })))
    if (wires.length === 1_200) break
  }
  return wires
}

describe('plans', () => {
  it('sends the same requests for the same seed, and others for another', () => {
    const requests = send(7)
    expect(send(7)).toEqual(requests)
    expect(send(8)).not.toEqual(requests)
    expect(new Set(requests).size).toBeGreaterThan(900)
  })

  it('sends valid requests, nearly valid ones and hostile ones', () => {
    const bodies = send(7).map((wire) => Buffer.from(JSON.parse(wire).body ?? []).toString())
    const share = (isKind: (body: string) => boolean) => bodies.filter(isKind).length / bodies.length
    expect(share((body) => /^\{"name":"(Ada|Bob)"/.test(body))).toBeGreaterThan(0.3)
    expect(share((body) => !body.startsWith('{'))).toBeGreaterThan(0.1)
    expect(share((body) => /__proto__/.test(body))).toBeGreaterThan(0)
  })

  it('mostly sends parameters, a query and headers that belong together, where the target has them', () => {
    const parts: PartsTogether = { params: { thingId: 'one' }, query: [['of', 'the']], headers: [['cookie', 'target']] }
    const requests = send(7, { together: { 'PUT /things/{thingId}': fc.constant(parts) } })
    const known = requests.filter(
      (wire) => wire.includes('/things/one?of=the"') && wire.includes('["cookie","target"]'),
    )
    expect(known.length / requests.length).toBeGreaterThan(0.4)
    expect(known.length).toBeLessThan(requests.length)
  })
})
