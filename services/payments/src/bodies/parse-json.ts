import type { Parsed } from './parse-form.ts'

const DEPTH_MAX = 20

/**
 * Reads a JSON body: an object at the top, nested at most 20 levels, without members that reach a prototype.
 * No text at all is an empty object (reference: JSON bodies).
 */
export function parseJson(text: string): Parsed<object> {
  if (text === '') return { value: {} }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse('is not valid JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('must be an object')
  const problem = inspect(value, 1)
  return problem === undefined ? { value } : refuse(problem)
}

function inspect(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > DEPTH_MAX) return `must not nest deeper than ${DEPTH_MAX} levels`
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__' || (key === 'constructor' && hasPrototype(member))) return `must not have a member ${key}`
    const problem = inspect(member, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function hasPrototype(member: unknown): boolean {
  return typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype')
}

function refuse(message: string): Parsed<never> {
  return { errors: [{ field: 'body', message, code: 'FORMAT' }] }
}
