import { describe, expect, it } from 'vitest'
import { countErrors, reportLines, type ServiceResult } from './report.ts'

const sample = { requestsPerSecond: 8_000, p50Ms: 7.5, p99Ms: 12.25, errors: 0, processorUs: 100 }
const result: ServiceResult = {
  service: 'auth',
  endpoints: [
    { name: 'GET /user', result: { ...sample, errors: 1 } },
    {
      name: 'one user',
      ofOther: { name: 'GET /user', goal: 0.6 },
      result: { ...sample, requestsPerSecond: 4_800 },
    },
  ],
  passwords: {
    work: [
      {
        name: 'POST /token password',
        result: { ...sample, requestsPerSecond: 72 },
        hashesPerSecond: 100,
        ofHashes: { median: 0.72, smallest: 0.7, largest: 0.8 },
      },
    ],
    users: {
      alone: { ...sample, errors: 2 },
      meanwhile: sample,
      ratio: { median: 1.2, smallest: 1, largest: 1.4 },
    },
    health: { ...sample, errors: 4 },
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
      ['of GET /user', '>= 0.6 met'],
      ['of 100.0 hashes', '>= 0.95 NOT MET'],
      ['GET /user during sign-ins', '<= 1.5 met'],
      ['GET /health during sign-ins', '<= 20 ms met'],
      ['start to first answer', '<= 500 NOT MET'],
      ['memory, loaded', '<= 300 met'],
    ])
  })
})

describe('countErrors', () => {
  it('counts the errors of every sample', () => {
    expect(countErrors(result)).toBe(7)
  })
})
