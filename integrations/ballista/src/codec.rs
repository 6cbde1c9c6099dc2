//! How the parts of `sort-table` travel in plans: from the client to the scheduler, and from there
//! to the executors. All else is left to Ballista's codecs.

use crate::parts::{Parts, PartsExec, PartsTable};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference, internal_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::any::Any;
use std::sync::Arc;

/// Ballista's codec of logical plans, with [`PartsTable`].
#[derive(Debug, Default)]
pub(crate) struct PartsLogicalCodec {
    inner: BallistaLogicalExtensionCodec,
}

impl LogicalExtensionCodec for PartsLogicalCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[LogicalPlan],
        context: &TaskContext,
    ) -> Result<Extension> {
        self.inner.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode(node, bytes)
    }

    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        name: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        match Parts::decode(bytes) {
            Some(parts) => Ok(Arc::new(PartsTable { parts, schema })),
            None => (self.inner).try_decode_table_provider(bytes, name, schema, context),
        }
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        table: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let any: &dyn Any = table.as_ref();
        match any.downcast_ref::<PartsTable>() {
            Some(table) => bytes.extend(table.parts.encode()),
            None => (self.inner).try_encode_table_provider(name, table, bytes)?,
        }
        Ok(())
    }

    fn try_decode_file_format(
        &self,
        bytes: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.inner.try_decode_file_format(bytes, context)
    }

    fn try_encode_file_format(
        &self,
        bytes: &mut Vec<u8>,
        format: Arc<dyn FileFormatFactory>,
    ) -> Result<()> {
        self.inner.try_encode_file_format(bytes, format)
    }
}

/// Ballista's codec of physical plans, with [`PartsExec`].
#[derive(Debug, Default)]
pub(crate) struct PartsPhysicalCodec {
    inner: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for PartsPhysicalCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (Parts::decode(bytes), inputs) {
            (None, _) => (self.inner).try_decode(bytes, inputs, context, converter),
            (Some(parts), [input]) => Ok(Arc::new(PartsExec::try_new(input.clone(), parts)?)),
            (Some(_), _) => internal_err!("PartsExec has {} inputs", inputs.len()),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let any: &dyn Any = node.as_ref();
        match any.downcast_ref::<PartsExec>() {
            Some(node) => bytes.extend(node.parts().encode()),
            None => self.inner.try_encode(node, bytes, converter)?,
        }
        Ok(())
    }
}
