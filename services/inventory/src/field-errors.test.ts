import { PROBLEM_TEXTS } from '@trestle/endpoints/error-texts.ts'
import { describe, expect, it } from 'vitest'
import { malformedRequest } from './errors.ts'
import { MALFORMED_TEXTS } from './field-errors.ts'

describe('MALFORMED_TEXTS', () => {
  it.each(Object.entries(MALFORMED_TEXTS))('writes %s out', (problem, text) => {
    expect(text).toBe(`${problem}.`)
    expect(malformedRequest({ problem }).message).toBe(text)
  })

  it('has every fixed text of the framework for 400', () => {
    const otherStatus: readonly string[] = ['fileTooLarge', 'fieldTooLarge', 'originNotAllowed']
    const texts = Object.entries(PROBLEM_TEXTS).flatMap(([name, text]) =>
      typeof text === 'string' && !otherStatus.includes(name) ? [text] : [],
    )
    expect(texts.filter((text) => !(text in MALFORMED_TEXTS))).toEqual([])
  })

  it('says for an unknown problem only that the request is malformed', () => {
    expect(malformedRequest({ problem: 'x' }).message).toBe('The request is malformed.')
  })
})
