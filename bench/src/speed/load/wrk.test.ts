import { describe, expect, it } from 'vitest'
import { readWrkOutput } from './wrk.ts'

describe('readWrkOutput', () => {
  it('reads the line that the script adds to the output of wrk', () => {
    const output = 'Running 1s test\n  10 requests\n@@{"requestsPerSecond":10.5,"p50Ms":1.25,"p99Ms":9,"errors":2}@@\n'
    expect(readWrkOutput(output)).toEqual({ requestsPerSecond: 10.5, p50Ms: 1.25, p99Ms: 9, errors: 2 })
  })

  it('throws with the output of wrk when the line is missing', () => {
    expect(() => readWrkOutput('unable to connect')).toThrow('wrk has printed no result: unable to connect')
  })
})
