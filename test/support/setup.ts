import { printLoggedErrors } from './logged-errors.ts'

printLoggedErrors()
