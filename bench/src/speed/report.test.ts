import { describe, expect, it } from 'vitest'
import type { ServiceResult } from './measure-service.ts'
import { countErrors, reportLines } from './report.ts'

const side = { requestsPerSecond: 8_000, p50Ms: 7.5, p99Ms: 12.25, errors: 0, processorUs: 100 }
const result: ServiceResult = {
  service: 'auth',
  comparisons: [
    {
      name: 'GET /user',
      goal: 0.8,
      ours: side,
      reference: { ...side, requestsPerSecond: 10_000, errors: 1 },
      ratio: { median: 0.8, smallest: 0.75, largest: 0.9 },
    },
  ],
  passwords: {
    work: [
      {
        name: 'POST /token password',
        goal: 0.95,
        ours: { ...side, requestsPerSecond: 72 },
        reference: { ...side, requestsPerSecond: 75 },
        ratio: { median: 0.96, smallest: 0.9, largest: 0.99 },
        hashesPerSecond: 100,
        ofHashes: {
          goal: 0.95,
          ours: { median: 0.72, smallest: 0.7, largest: 0.8 },
          reference: { median: 0.75, smallest: 0.7, largest: 0.8 },
        },
      },
    ],
    neighbour: {
      name: 'GET /user during sign-ins',
      goal: 1.5,
      alone: { ...side, errors: 2 },
      meanwhile: side,
      ratio: { median: 1.2, smallest: 1, largest: 1.4 },
    },
    health: { name: 'GET /health during sign-ins', goalMs: 20, meanwhile: { ...side, errors: 4 } },
  },
  startUp: { healthMs: 501, readyMs: 550, idleMib: undefined },
  loadedMib: 299,
}

describe('reportLines', () => {
  it('says whether each goal is met', () => {
    const verdicts = reportLines(result).flatMap((line) => {
      const [, name, verdict] = /^ {2,4}(\S.*?) {2,}.*? {2}([<>]= \S+ .*)$/.exec(line) ?? []
      return name === undefined ? [] : [[name, verdict]]
    })
    expect(verdicts).toEqual([
      ['GET /user', '>= 0.8 met'],
      ['POST /token password', '>= 0.95 met'],
      ['of 100.0 hashes', '>= 0.95 NOT MET'],
      ['GET /user during sign-ins', '<= 1.5 met'],
      ['GET /health during sign-ins', '<= 20 ms met'],
      ['start to first answer', '<= 500 NOT MET'],
      ['memory, loaded', '<= 300 met'],
    ])
  })
})

describe('countErrors', () => {
  it('counts the errors of every server', () => {
    expect(countErrors(result)).toBe(7)
  })
})
