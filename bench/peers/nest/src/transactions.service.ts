import { randomUUID } from 'node:crypto'
import { Injectable, NotFoundException } from '@nestjs/common'
import { InjectDataSource } from '@nestjs/typeorm'
import * as QRCode from 'qrcode'
import { DataSource, QueryFailedError } from 'typeorm'
import { createBrCode } from './brcode'
import type { CreateTransactionDto } from './create-transaction.dto'
import { Event, StatusHistory, Transaction } from './entities'

@Injectable()
export class TransactionsService {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  async create(merchantId: string, body: CreateTransactionDto) {
    const transaction = await this.insert(merchantId, body)
    return {
      id: transaction.id,
      externalCode: transaction.externalCode,
      amount: transaction.amount,
      type: 'TRANSACTION',
      status: transaction.status,
      pixResponse: await this.toPixResponse(transaction),
    }
  }

  async find(merchantId: string, id: string) {
    const transaction = await this.dataSource.getRepository(Transaction).findOne({
      where: { id, merchantId },
      relations: { statusHistory: true },
      order: { statusHistory: { id: 'ASC' } },
    })
    if (!transaction) throw new NotFoundException()
    const { merchantId: _, pixUri: __, pixExpiresAt: ___, statusHistory, ...shown } = transaction
    return {
      ...shown,
      statusHistory: statusHistory.map(({ status, changedAt }) => ({ status, changedAt })),
      pixResponse: await this.toPixResponse(transaction),
    }
  }

  private async insert(merchantId: string, body: CreateTransactionDto): Promise<Transaction> {
    const now = new Date()
    try {
      return await this.dataSource.transaction(async (manager) => {
        const transaction = manager.create(Transaction, {
          id: randomUUID(),
          merchantId,
          amount: body.amount,
          status: 'PIX_QRCODE_GENERATED',
          paymentMethod: body.paymentMethod,
          idempotencyKey: body.idempotencyKey,
          externalCode: body.externalCode,
          webhookUrl: body.webhookUrl,
          isInfoProduct: body.isInfoProduct,
          customer: body.customer,
          seller: body.seller,
          address: body.address,
          items: body.items,
          metadata: body.metadata,
          pixExpirationSeconds: body.pix.expirationSeconds,
          pixUri: createBrCode(),
          pixExpiresAt: new Date(now.getTime() + body.pix.expirationSeconds * 1000),
          createdAt: now,
          updatedAt: now,
        })
        // insert, not save: save would first look whether the row is there.
        await manager.insert(Transaction, transaction)
        await manager.insert(StatusHistory, [
          { transaction, status: 'PENDING', changedAt: now },
          { transaction, status: transaction.status, changedAt: now },
        ])
        await manager.insert(Event, {
          id: randomUUID(),
          merchantId,
          transactionId: transaction.id,
          type: 'transaction.pix_qrcode_generated',
          payload: { id: transaction.id, amount: transaction.amount, status: transaction.status },
          createdAt: now,
        })
        return transaction
      })
    } catch (error) {
      // The key exists already: the first transaction is the answer.
      if (!(error instanceof QueryFailedError) || error.driverError.code !== '23505') throw error
      return await this.dataSource
        .getRepository(Transaction)
        .findOneByOrFail({ merchantId, idempotencyKey: body.idempotencyKey })
    }
  }

  private async toPixResponse(transaction: Transaction) {
    return {
      uri: transaction.pixUri,
      qrCodeBase64: await QRCode.toDataURL(transaction.pixUri, { errorCorrectionLevel: 'M' }),
      expirationDate: transaction.pixExpiresAt,
    }
  }
}
