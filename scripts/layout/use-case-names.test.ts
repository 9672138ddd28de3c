import { describe, expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { useCaseNamesBut } from './use-case-names.ts'

/** The rule without a list. */
const anyUseCase = useCaseNamesBut(new Map())
const useCase = 'services/shop/src/use-cases/pay-out.ts'
const refusal = `${useCase} exports no payOut: name the file after its act, or split it by its acts`

it.each([
  'export function payOut(): void {}\n',
  'export async function payOut(): Promise<void> {}\n',
  'export async function* payOut(): AsyncGenerator<string> {}\n',
  'export const payOut = (): void => {}\n',
  'export const CURRENCIES = []\nexport function payOut(): void {}\nexport function isPayable(): boolean { return true }\n',
  'async function payOut(): Promise<void> {}\nexport function startPayouts(): void { jobs.work(payOut) }\n',
])('accepts a use case that has a function of the name of its file: %j', async (text) => {
  expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([])
})

it.each([
  'export function payEveryone(): void {}\n',
  'export function payOutAll(): void {}\n',
  'function payOut(): void {}\nexport function payEveryone(): void { payOut() }\n',
  'export function startPayouts(): void {}\n',
])('refuses a use case without a function of its name: %j', async (text) => {
  expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([refusal])
})

it.each([
  ['another act', 'export async function payEveryone(): Promise<void> {}\n', 'payEveryone'],
  ['another act as an arrow function', 'export const payEveryone = async (): Promise<void> => {}\n', 'payEveryone'],
  ['a function that begins with start and takes no jobs', 'export function startPayment(): void {}\n', 'startPayment'],
])('refuses a use case that exports %s beside its own', async (_why, other, name) => {
  const text = `export function payOut(): void {}\n${other}`
  const problem = `${useCase} exports ${name} beside payOut: give each act its own file`
  expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([problem])
})

it.each(['PayOutRequest', 'PaymentInput', 'PayoutInput'])(
  'refuses %s as the name of what an act takes',
  async (type) => {
    const text = `/** A payout. */ export interface ${type} {}\nexport function payOut(input: ${type}): void {}\n`
    const problem = `${useCase} exports ${type}: what the act takes is PayOutInput`
    expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([problem])
  },
)

it.each([
  ['a parameter', 'export function payOut(deps: PayOutDeps, request: PayOutInput): void {}\n'],
  ['a parameter of a helper', 'export function payOut(): void {}\nfunction send(request: PayOutInput): void {}\n'],
  ['a member', 'interface Taken {\n  readonly request: PayOutInput\n}\nexport function payOut(): void {}\n'],
])('refuses %s that has what the act takes by another name than input', async (_what, text) => {
  const problem = `${useCase} calls a PayOutInput request: call it input`
  expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([problem])
})

it('accepts what the act takes as input or in its parts, beside the input of another act', async () => {
  const text =
    'export function payOut(input: PayOutInput): void {}\nfunction send({ payee }: PayOutInput, charge: ChargeInput): void {}\n'
  expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([])
})

it('accepts the input of the act, other types, and private types of any name', async () => {
  const text =
    'export interface PayOutInput {}\nexport type PayOutDeps = object\ninterface SentRequest {}\nexport function payOut(): void {}\n'
  expect(await problemsOf(anyUseCase, { [useCase]: text })).toEqual([])
})

it('leaves tests and other folders alone', async () => {
  const text = 'export function payEveryone(): void {}\n'
  const files = { 'services/shop/src/use-cases/pay-out.test.ts': text, 'services/shop/src/items/pay-out.ts': text }
  expect(await problemsOf(anyUseCase, files)).toEqual([])
})

describe('a name that the list lets a use case export beside its act', () => {
  const rule = useCaseNamesBut(new Map([[useCase, { names: ['payEveryone'], reason: 'two callers pay out' }]]))
  const act = 'export function payOut(): void {}\n'

  it('is accepted while the use case exports it', async () => {
    const text = `${act}export function payEveryone(): void {}\n`
    expect(await problemsOf(rule, { [useCase]: text })).toEqual([])
  })

  it('is refused once the use case exports it no more', async () => {
    const text = `${act}function payEveryone(): void {}\n`
    const problem = `${useCase} exports no payEveryone: take it from the list of use-case-names.ts`
    expect(await problemsOf(rule, { [useCase]: text })).toEqual([problem])
  })

  it('is refused once the use case is gone', async () => {
    const problem = `${useCase} exports no payEveryone: take it from the list of use-case-names.ts`
    expect(await problemsOf(rule, {})).toEqual([problem])
  })
})
