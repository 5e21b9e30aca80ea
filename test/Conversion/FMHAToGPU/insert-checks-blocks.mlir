// RUN: fmha-opt %s --fmha-insert-checks --canonicalize --cse | FileCheck %s

// Lists of blocks: the checks compare dynamic extents with those of the query and of the other lists, and read the counts and the counted
// entries. The numbers of blocks of keys and rows follow from the lengths of key and query.
// CHECK-LABEL: func.func @lists
// CHECK-SAME:    %[[Q:[^:]*]]: memref<3x?x4x64xf16>, %[[K:[^:]*]]: memref<3x?x4x64xf16>, %{{.*}}, %[[N:[^:]*]]: memref<?x1x?xi32>, %[[X:[^:]*]]: memref<?x1x?x?xi32>,
// CHECK-SAME:    %[[FN:[^:]*]]: memref<3x?x?xi32>, %[[FX:[^:]*]]: memref<3x?x?x5xi32>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG:     %[[C5:.*]] = arith.constant 5 : index
// CHECK-DAG:     %[[C47:.*]] = arith.constant 47 : index
// CHECK-DAG:     %[[C48:.*]] = arith.constant 48 : index
// CHECK-DAG:     %[[C127:.*]] = arith.constant 127 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %[[MOST:.*]] = arith.constant 1073741312 : index
// CHECK-DAG:     %{{.*}}, %{{.*}}, %[[QS:.*]]:4, %{{.*}}:4 = memref.extract_strided_metadata %[[Q]]
// CHECK-DAG:     %{{.*}}, %{{.*}}, %[[KS:.*]]:4, %{{.*}}:4 = memref.extract_strided_metadata %[[K]]
// CHECK-DAG:     %{{.*}}, %{{.*}}, %[[NS:.*]]:3, %{{.*}}:3 = memref.extract_strided_metadata %[[N]]
// CHECK-DAG:     %{{.*}}, %{{.*}}, %[[XS:.*]]:4, %{{.*}}:4 = memref.extract_strided_metadata %[[X]]
// CHECK-DAG:     %{{.*}}, %{{.*}}, %[[FNS:.*]]:3, %{{.*}}:3 = memref.extract_strided_metadata %[[FN]]
// CHECK:         %[[ONE:.*]] = arith.cmpi eq, %[[NS]]#0, %[[C1]]
// CHECK:         %[[BATCH:.*]] = arith.cmpi eq, %[[NS]]#0, %[[C3]]
// CHECK:         %[[EITHER:.*]] = arith.ori %[[ONE]], %[[BATCH]]
// CHECK:         cf.assert %[[EITHER]], "{{.*}}(attention.C36) expected dimension 0 of kv_num_blocks to be 1 or the batch of query
// CHECK:         %[[UP:.*]] = arith.addi %[[QS]]#1, %[[C127]]
// CHECK:         %[[ROWS:.*]] = arith.divui %[[UP]], %[[C128]]
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[NS]]#2, %[[ROWS]]
// CHECK:         cf.assert %[[SAME]], "{{.*}}(attention.C36) expected kv_num_blocks to have an entry for every 128 rows of query
// CHECK:         (attention.C36) expected dimension 0 of kv_indices to equal dimension 0 of kv_num_blocks
// CHECK:         (attention.C36) expected dimension 2 of kv_indices to equal dimension 2 of kv_num_blocks
// CHECK:         (attention.C36) expected dimension 0 of full_kv_num_blocks to equal dimension 0 of kv_num_blocks
// CHECK:         (attention.C36) expected dimension 1 of full_kv_num_blocks to equal dimension 1 of kv_num_blocks
// CHECK:         (attention.C36) expected dimension 2 of full_kv_num_blocks to equal dimension 2 of kv_num_blocks
// CHECK:         (attention.C36) expected dimension 1 of full_kv_indices to equal dimension 1 of full_kv_num_blocks
// CHECK:         (attention.C36) expected dimension 2 of full_kv_indices to equal dimension 2 of full_kv_num_blocks
// CHECK:         %[[SHORT:.*]] = arith.cmpi ule, %[[QS]]#1, %[[MOST]]
// CHECK:         cf.assert %[[SHORT]], "{{.*}}(attention.C29) expected a length of query of at most 1073741312
// CHECK:         (attention.C29) expected a length of key of at most 1073741312
// CHECK:         (attention.C36) expected the rows of kv_num_blocks to follow each other; copy it to a contiguous buffer
// CHECK:         (attention.C36) expected kv_num_blocks to have less than 2^31 elements
// CHECK:         (attention.C36) expected the rows of kv_indices to follow each other; copy it to a contiguous buffer
// CHECK:         (attention.C36) expected kv_indices to have less than 2^31 elements
// CHECK:         (attention.C36) expected full_kv_num_blocks to have less than 2^31 elements
// CHECK:         (attention.C36) expected full_kv_indices to have less than 2^31 elements
// CHECK:         (attention.C21) expected output and full_kv_indices to share no memory
// CHECK:         %[[MORE:.*]] = arith.addi %[[KS]]#1, %[[C47]]
// CHECK:         %[[BLOCKS:.*]] = arith.divui %[[MORE]], %[[C48]]
// CHECK:         scf.for %[[B:.*]] = %[[C0]] to %[[NS]]#0 step %[[C1]]
// CHECK-NEXT:      scf.for %[[R:.*]] = %[[C0]] to %[[NS]]#2 step %[[C1]]
// CHECK:             %[[ENTRY:.*]] = memref.load %[[N]][%[[B]], %[[C0]], %[[R]]]
// CHECK:             %[[COUNT:.*]] = arith.index_cast %[[ENTRY]]
// CHECK:             %[[FITS:.*]] = arith.cmpi ule, %[[COUNT]], %[[XS]]#3
// CHECK:             cf.assert %[[FITS]], "{{.*}}(attention.C36) expected every entry of kv_num_blocks to be from 0 to the length of a list of kv_indices
// CHECK:             scf.for %[[E:.*]] = %[[C0]] to %[[COUNT]] step %[[C1]]
// CHECK:               %[[NUMBER:.*]] = memref.load %[[X]][%[[B]], %[[C0]], %[[R]], %[[E]]]
// CHECK:               %[[BLOCK:.*]] = arith.index_cast %[[NUMBER]]
// CHECK:               %[[INSIDE:.*]] = arith.cmpi ult, %[[BLOCK]], %[[BLOCKS]]
// CHECK:               cf.assert %[[INSIDE]], "{{.*}}(attention.C36) expected every counted entry of kv_indices to be from 0 to the number of blocks of keys less 1
// CHECK:         scf.for %[[B:.*]] = %[[C0]] to %[[C3]] step %[[C1]]
// CHECK-NEXT:      scf.for %[[H:.*]] = %[[C0]] to %[[FNS]]#1 step %[[C1]]
// CHECK-NEXT:        scf.for %[[R:.*]] = %[[C0]] to %[[FNS]]#2 step %[[C1]]
// CHECK:               %[[ENTRY:.*]] = memref.load %[[FN]][%[[B]], %[[H]], %[[R]]]
// CHECK:               %[[COUNT:.*]] = arith.index_cast %[[ENTRY]]
// CHECK:               arith.cmpi ule, %[[COUNT]], %[[C5]]
// CHECK:               scf.for %[[E:.*]] = %[[C0]] to %[[COUNT]] step %[[C1]]
// CHECK:                 memref.load %[[FX]][%[[B]], %[[H]], %[[R]], %[[E]]]
// CHECK:                 (attention.C36) expected every counted entry of full_kv_indices to be from 0 to the number of blocks of keys less 1
func.func @lists(%q: memref<3x?x4x64xf16>, %k: memref<3x?x4x64xf16>, %o: memref<3x?x4x64xf16>, %counts: memref<?x1x?xi32>, %lists: memref<?x1x?x?xi32>,
                 %full_counts: memref<3x?x?xi32>, %full_lists: memref<3x?x?x5xi32>) {
  fmha.attention ins(%q, %k, %k : memref<3x?x4x64xf16>, memref<3x?x4x64xf16>, memref<3x?x4x64xf16>)
      blocks[128, 48](%counts, %lists, %full_counts, %full_lists : memref<?x1x?xi32>, memref<?x1x?x?xi32>, memref<3x?x?xi32>, memref<3x?x?x5xi32>)
      outs(%o : memref<3x?x4x64xf16>)
  return
}

// Static extents have no checks, and lists of full blocks need not exist.
// CHECK-LABEL: func.func @static
// CHECK-NOT:     dimension
// CHECK-NOT:     2^31
// CHECK-NOT:     full_kv
// CHECK:         every entry of kv_num_blocks
// CHECK:         every counted entry of kv_indices
// CHECK-NOT:     full_kv
// CHECK:         return
func.func @static(%q: memref<1x300x4x64xf16>, %k: memref<1x9x4x64xf16>, %o: memref<1x300x4x64xf16>, %counts: memref<1x1x3xi32>, %lists: memref<1x1x3x2xi32>) {
  fmha.attention ins(%q, %k, %k : memref<1x300x4x64xf16>, memref<1x9x4x64xf16>, memref<1x9x4x64xf16>)
      blocks[128, 48](%counts, %lists : memref<1x1x3xi32>, memref<1x1x3x2xi32>) outs(%o : memref<1x300x4x64xf16>)
  return
}
