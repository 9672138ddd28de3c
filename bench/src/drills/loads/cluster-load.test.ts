import { describe, expect, it } from 'vitest'
import { judge, type SentRequest } from './cluster-load.ts'

const outages = [{ node: 1, fromMs: 100, downMs: 110, untilMs: 200 }]
const request = (
  entry: number | undefined,
  node: number,
  [fromMs, untilMs]: readonly [number, number],
): SentRequest => ({
  ...{ entry, node, fromMs, untilMs },
  failure: '503',
  what: 'a POST /merchants/a/transactions',
})

describe('judge', () => {
  it.each<[string, SentRequest, keyof ReturnType<typeof judge>]>([
    ['one that ended before the outage', request(1, 1, [80, 99]), 'undisturbed'],
    ['one that began after it', request(1, 1, [201, 230]), 'undisturbed'],
    ['one that met other servers', request(2, 0, [120, 130]), 'undisturbed'],
    ['one that was under way when it began', request(2, 1, [90, 110]), 'disturbed'],
    ['one that was under way when it ended', request(2, 1, [190, 210]), 'disturbed'],
    ['one that was under way all the time', request(2, 1, [90, 210]), 'disturbed'],
    ['one whose entry was down', request(1, 2, [120, 130]), 'disturbed'],
    ['one by several entries, whose merchant was down', request(undefined, 1, [120, 130]), 'disturbed'],
    ['one by several entries, while one was down', request(undefined, 2, [120, 210]), 'bySeveral'],
    ['one by several entries, of which one began to end', request(undefined, 2, [90, 105]), 'atKill'],
    ['one by several entries, that began as one was ending', request(undefined, 2, [109, 130]), 'atKill'],
    ['one by several entries, that ended before', request(undefined, 2, [90, 99]), 'bySeveral'],
  ])('counts %s', (_name, sent, group) => {
    const none = { sent: 0, failed: new Map() }
    expect(judge([sent], outages)).toEqual({
      ...{ undisturbed: none, bySeveral: none, atKill: none, disturbed: none },
      [group]: { sent: 1, failed: new Map([['503', 1]]) },
    })
  })

  it('counts acknowledged requests, and failures by their cause', () => {
    const [one, other] = [request(2, 2, [0, 10]), { ...request(2, 2, [0, 10]), failure: undefined }]
    const { undisturbed } = judge([one, other, { ...one, failure: '409' }, one], outages)
    expect(undisturbed).toEqual({
      sent: 4,
      failed: new Map([
        ['503', 2],
        ['409', 1],
      ]),
    })
  })
})
