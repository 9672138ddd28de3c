export interface User {
  readonly id: number
  /** Lower case. */
  readonly username: string
  readonly firstName: string
  readonly lastName: string
}
