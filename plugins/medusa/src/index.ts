import { ModuleProvider, Modules } from '@medusajs/framework/utils'
import { GuichePaymentProvider } from './service.ts'

export default ModuleProvider(Modules.PAYMENT, { services: [GuichePaymentProvider] })
