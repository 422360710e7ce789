import { texts } from '../../text.ts'
import type { FirstStep } from '../../types.ts'

type StepWords = { title: string; hint: string }

export const words = texts<{
  title: string
  lead: (done: number, all: number) => string
  dismiss: string
  done: string
  open: string
  steps: Record<FirstStep, StepWords>
}>({
  en: {
    title: 'First steps',
    lead: (done, all) => `${done} of ${all} done`,
    dismiss: 'Do not show again',
    done: 'Done',
    open: 'Open',
    steps: {
      merchant: {
        title: 'Create a merchant',
        hint: 'A business that sells through you. Its API client calls the API.',
      },
      charge: {
        title: 'Create the first charge',
        hint: 'With the form here, or with POST /transaction.',
      },
      payment: {
        title: 'Have a charge paid',
        hint: 'In the sandbox, pay it as its customer. With a real PSP, scan its QR code with a bank’s app.',
      },
      receiver: {
        title: 'Register a webhook receiver',
        hint: 'The URL to which every payment is reported, signed.',
      },
      delivery: {
        title: 'Receive the first webhook',
        hint: 'The receiver answers with a status from 200 to 299. Each attempt is listed.',
      },
      withdrawal: {
        title: 'Withdraw to your Pix key',
        hint: 'A small amount shows that the money arrives in your account.',
      },
      colleague: {
        title: 'Invite a second person',
        hint: 'Some actions need the approval of another person.',
      },
      secondFactor: {
        title: 'Turn on the second factor',
        hint: 'A code from an app, in addition to your password.',
      },
      psp: {
        title: 'Connect your PSP',
        hint: 'Then real money arrives. The sandbox ends.',
      },
    },
  },
  pt: {
    title: 'Primeiros passos',
    lead: (done, all) => `${done} de ${all} concluídos`,
    dismiss: 'Não mostrar mais',
    done: 'Concluído',
    open: 'Abrir',
    steps: {
      merchant: {
        title: 'Cadastre um lojista',
        hint: 'Um negócio que vende por meio da sua operação. A credencial dele chama a API.',
      },
      charge: {
        title: 'Crie a primeira cobrança',
        hint: 'Pelo formulário daqui ou com POST /transaction.',
      },
      payment: {
        title: 'Receba um pagamento',
        hint: 'No sandbox, pague no lugar do cliente. Com um PSP real, leia o QR Code no app do banco.',
      },
      receiver: {
        title: 'Cadastre uma URL de webhook',
        hint: 'Cada pagamento é avisado nessa URL, com assinatura.',
      },
      delivery: {
        title: 'Receba o primeiro webhook',
        hint: 'Sua URL responde com um status de 200 a 299. Cada tentativa aparece na lista.',
      },
      withdrawal: {
        title: 'Faça um saque para a sua chave Pix',
        hint: 'Com um valor pequeno você confirma que o dinheiro chega à sua conta.',
      },
      colleague: {
        title: 'Convide outra pessoa',
        hint: 'Algumas ações precisam da aprovação de uma segunda pessoa.',
      },
      secondFactor: {
        title: 'Ative o segundo fator',
        hint: 'Um código de um app, além da sua senha.',
      },
      psp: {
        title: 'Conecte o seu PSP',
        hint: 'A partir daí entra dinheiro de verdade e o sandbox é desligado.',
      },
    },
  },
})
