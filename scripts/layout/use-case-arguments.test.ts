import { expect, it } from 'vitest'
import { problemsOf } from './shop-tree.ts'
import { useCaseArguments } from './use-case-arguments.ts'

const useCase = 'services/shop/src/use-cases/pay-out.ts'
const job = 'export function startPayouts() { return deps.jobs.work(task, payOut) }\n'

it.each([
  ['nothing but dependencies', 'export function payOut(deps: Deps) {}\n'],
  ['an input', 'export interface PayOutInput {}\nexport function payOut(deps: Deps, input: PayOutInput) {}\n'],
  ['the members of an input', 'export async function payOut(deps: Deps, { payee }: PayOutInput) {}\n'],
  ['an input that may be left out', 'export function* payOut(deps: Deps, { payee }: PayOutInput = {}) {}\n'],
  ['one value', 'export function payOut(deps: Deps, merchantId: string) {}\n'],
  ['an object of a noun', 'export function payOut(deps: Deps, { id }: Pick<Merchant, "id">) {}\n'],
  ['a function of the caller', 'export function payOut(deps: Deps, input: PayOutInput, pay: () => void) {}\n'],
  ['the work of the caller', 'export function payOut<A>(deps: Deps, input: PayOutInput, runWork: RunWork<A>) {}\n'],
  ['a job and its attempt', `function payOut(deps: Deps, job: PayoutJob, attempt: number) {}\n${job}`],
  ['helpers of another form', 'export function payOut(deps: Deps) {}\nfunction send(deps: Deps, a: A, b: B) {}\n'],
])('accepts %s', async (_what, text) => {
  expect(await problemsOf(useCaseArguments, { [useCase]: text })).toEqual([])
})

const several = `${useCase} takes several arguments: make them members of one input: PayOutInput`
const unnamed = `${useCase} takes members whose type has no name: call it PayOutInput`
const other = `${useCase} takes Payee, which it exports: call it PayOutInput`
it.each([
  ['two values', 'export function payOut(deps: Deps, caller: Caller, lines: Line[]) {}\n', several],
  ['two values of a job', `function payOut(deps: Deps, job: Job, attempt: number, wait: Wait) {}\n${job}`, several],
  ['members without a name', 'export function payOut(deps: Deps, { id }: { id: string }) {}\n', unnamed],
  ['members that may be left out', 'export function payOut(deps: Deps, { id }: { id?: string } = {}) {}\n', unnamed],
  ['a type of its own', 'export type Payee = object\nexport function payOut(deps: Deps, payee: Payee) {}\n', other],
])('refuses %s', async (_what, text, problem) => {
  expect(await problemsOf(useCaseArguments, { [useCase]: text })).toEqual([problem])
})

it('leaves other folders alone', async () => {
  const text = 'export function payOut(deps: Deps, caller: Caller, lines: Line[]) {}\n'
  expect(await problemsOf(useCaseArguments, { 'services/shop/src/payouts/pay-out.ts': text })).toEqual([])
})
